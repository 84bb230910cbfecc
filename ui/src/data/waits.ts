/**
 * Waits cut into parts, each with the owner then: what src/sonde/model/locks/contention.py does for the
 * reports. A wait covers a run of holds of its lock; those are written once, not once per waiter.
 */

import { Columns } from "./columns";
import {
  AFTER_NOTIFICATION,
  AFTER_RELEASE,
  OWNER_RELEASED,
  UNKNOWN,
  type Waits,
} from "./recording";

const OUTCOME = 3;
const ACQUIRED = 2;
const CLEAN = 4;
const WHOLE = 8;
const NOTIFICATION = 16;
const BEGINS = 32;
const NOTIFIED = 64;

interface Contentions {
  flags: Uint8Array;
  thread: Int32Array;
  lock: Int32Array;
  kind: Uint8Array;
  waiter: Int32Array;
  start: Float64Array;
  length: Float64Array;
  first: Int32Array;
  held: Int32Array;
  tailThread: Int32Array;
  tailContext: Int32Array;
}

interface Holds {
  until: Float64Array;
  thread: Int32Array;
  context: Int32Array;
  gap: Uint8Array;
}

export function waits(bytes: Uint8Array, contexts: number): Waits {
  const columns = new Columns(bytes);
  const found: Contentions = {
    flags: columns.unsigned(Uint8Array),
    thread: columns.unsigned(Int32Array),
    lock: columns.unsigned(Int32Array),
    kind: columns.unsigned(Uint8Array),
    waiter: columns.orUnknown(Int32Array),
    start: columns.changes(Float64Array),
    length: columns.unsigned(Float64Array),
    first: columns.changes(Int32Array),
    held: columns.unsigned(Int32Array),
    tailThread: columns.orUnknown(Int32Array),
    tailContext: columns.orUnknown(Int32Array),
  };
  const holds: Holds = {
    until: columns.changes(Float64Array),
    thread: columns.orUnknown(Int32Array),
    context: columns.orUnknown(Int32Array),
    gap: columns.unsigned(Uint8Array),
  };
  const sites = columns.unsigned(Int32Array);
  const names = columns.orUnknown(Int32Array);
  const span = columns.orUnknown(Int32Array);
  const site = new Int32Array(contexts).fill(UNKNOWN);
  sites.forEach((context, i) => (site[context] = names[i]!));

  let size = 0;
  walk(found, holds, () => size++);
  const made = emptyWaits(size, span.length ? size : 0);
  let row = 0;
  let wait = -1;
  let last = -1;
  walk(found, holds, (i, ownerThread, owner, start, end, handed) => {
    for (; last < i; last++) if (found.flags[last + 1]! & BEGINS) wait++;
    const waiter = found.waiter[i]!;
    made.wait[row] = wait;
    made.thread[row] = found.thread[i]!;
    made.start[row] = start;
    made.end[row] = end;
    made.lock[row] = found.lock[i]!;
    made.kind[row] = found.kind[i]!;
    made.waiter[row] = waiter;
    made.owner[row] = owner;
    made.waiterFunction[row] = waiter < 0 ? UNKNOWN : site[waiter]!;
    made.ownerFunction[row] = owner < 0 ? UNKNOWN : site[owner]!;
    made.ownerThread[row] = ownerThread;
    made.ns[row] = end - start;
    made.notification[row] = found.flags[i]! & NOTIFICATION ? 1 : 0;
    made.part[row] =
      (handed ? OWNER_RELEASED : 0) |
      (start > found.start[i]! ? AFTER_RELEASE : 0) |
      (found.flags[i]! & NOTIFIED ? AFTER_NOTIFICATION : 0);
    if (span.length) made.span[row] = span[i]!;
    row++;
  });
  return made;
}

type Part = (
  contention: number,
  ownerThread: number,
  owner: number,
  start: number,
  end: number,
  handed: boolean,
) => void;

function walk(found: Contentions, holds: Holds, part: Part): void {
  for (let i = 0; i < found.flags.length; i++) {
    const flags = found.flags[i]!;
    const thread = found.thread[i]!;
    const start = found.start[i]!;
    const end = start + found.length[i]!;
    const runs = flags & WHOLE ? 0 : found.held[i]!;
    let since = start;
    for (let place = 0; place < runs; place++) {
      const hold = found.first[i]! + place;
      const until = Math.min(Math.max(holds.until[hold]!, start), end);
      if (until > since) {
        // After a gap the owner is unknown, and no thread waits for what it holds itself.
        const unsure =
          (holds.gap[hold]! && !(place === 0 && flags & CLEAN)) ||
          holds.thread[hold] === thread;
        const owner = unsure ? UNKNOWN : holds.thread[hold]!;
        const context = owner < 0 ? UNKNOWN : holds.context[hold]!;
        part(i, owner, context, since, until, false);
      }
      since = until;
    }
    // A wait without length is a wait all the same.
    if (end > since || end === start) {
      let owner = found.tailThread[i]!;
      // One who never gets it may have been found to hold it.
      if (owner === thread && (flags & OUTCOME) === ACQUIRED) owner = UNKNOWN;
      const context = owner < 0 ? UNKNOWN : found.tailContext[i]!;
      const handed = (flags & OUTCOME) === ACQUIRED && !(flags & WHOLE);
      part(i, owner, context, since, end, handed);
    }
  }
}

/** Columns of that many rows, with as many of spans: none where a recording has none. */
export function emptyWaits(size: number, spans: number): Waits {
  return {
    wait: new Int32Array(size),
    thread: new Int32Array(size),
    start: new Float64Array(size),
    end: new Float64Array(size),
    lock: new Int32Array(size),
    kind: new Uint8Array(size),
    waiter: new Int32Array(size),
    owner: new Int32Array(size),
    waiterFunction: new Int32Array(size),
    ownerFunction: new Int32Array(size),
    ownerThread: new Int32Array(size),
    ns: new Float64Array(size),
    notification: new Uint8Array(size),
    part: new Uint8Array(size),
    span: new Int32Array(spans),
  };
}
