/** Tasks of event loops as src/sonde/web/tasks.py writes them, and what they waited for. */

import { Columns } from "./columns";
import { UNKNOWN, type Recording, type Waits } from "./recording";
import { TASK, type Tasks } from "./tasktables";

export function tasks(bytes: Uint8Array): Tasks {
  const columns = new Columns(bytes);
  return {
    process: columns.unsigned(Uint32Array),
    id: columns.unsigned(Float64Array),
    kind: columns.unsigned(Uint8Array),
    fn: columns.orUnknown(Int32Array),
    parent: columns.unsigned(Float64Array),
    created: columns.signed(Float64Array),
    times: {
      task: columns.unsigned(Int32Array),
      time: columns.changes(Float64Array),
      steps: columns.unsigned(Float64Array),
      tasks: columns.unsigned(Float64Array),
      running: columns.unsigned(Float64Array),
      ready: columns.unsigned(Float64Array),
      suspended: columns.unsigned(Float64Array),
      caused: columns.unsigned(Float64Array),
      ended: columns.unsigned(Uint8Array),
    },
    waits: {
      thread: columns.unsigned(Int32Array),
      task: columns.orUnknown(Int32Array),
      time: columns.changes(Float64Array),
      ready: columns.unsigned(Float64Array),
      suspended: columns.unsigned(Float64Array),
      context: columns.orUnknown(Int32Array),
    },
    steps: {
      thread: columns.unsigned(Int32Array),
      task: columns.orUnknown(Int32Array),
      time: columns.changes(Float64Array),
      duration: columns.unsigned(Float64Array),
      caused: columns.unsigned(Float64Array),
    },
    pieces: {
      wait: columns.changes(Int32Array),
      time: columns.unsigned(Float64Array),
      ns: columns.unsigned(Float64Array),
      thread: columns.orUnknown(Int32Array),
      waiter: columns.orUnknown(Int32Array),
      owner: columns.orUnknown(Int32Array),
      waitingContext: columns.orUnknown(Int32Array),
      context: columns.orUnknown(Int32Array),
      ownFunction: columns.orUnknown(Int32Array),
      function: columns.orUnknown(Int32Array),
      step: columns.orUnknown(Int32Array),
    },
  };
}

/** What a task, a callback or a group of tasks is called. */
export function taskName(
  recording: Recording,
  { id, fn, kind }: Tasks,
  row: number,
): string {
  const name = recording.meta.taskNames[row];
  if (name) return name;
  const called = recording.functions[fn[row]!]?.name;
  return called ?? (kind[row] === TASK ? `task ${id[row]}` : "a callback");
}

/**
 * The waits of threads and, after them, those of tasks for their loops. A loop is a lock of its
 * own.
 */
export function withLoopWaits(
  recording: Recording,
  waits: Waits,
  { pieces, fn }: Tasks,
): Waits {
  const first = waits.ns.length;
  const size = pieces.ns.length;
  if (!size) return waits;
  const kind = recording.meta.kinds.indexOf("loop");
  let last = waits.wait.length ? waits.wait[first - 1]! + 1 : 0;
  // Waits without a row of their own are not counted, and have no moment.
  const unwritten = pieces.wait.map((wait, i) =>
    pieces.thread[i]! < 0 ? UNKNOWN : wait,
  );
  const wait = unwritten.map((value, i) => {
    if (value < 0) return UNKNOWN;
    if (i && value !== unwritten[i - 1]) last++;
    return last;
  });
  const start = pieces.time;
  const task = (rows: Int32Array) =>
    rows.map((row) => (row < 0 ? UNKNOWN : fn[row]!));
  const joined = <A extends Int32Array | Float64Array | Uint8Array>(
    before: A,
    after: ArrayLike<number>,
  ): A => {
    const made = new (before.constructor as new (length: number) => A)(
      first + size,
    );
    made.set(before);
    made.set(after, first);
    return made;
  };
  const all = (value: number) => new Int32Array(size).fill(value);
  return {
    wait: joined(waits.wait, wait),
    thread: joined(waits.thread, pieces.thread),
    start: joined(waits.start, start),
    // Of a part only the moment is known at which the wait ended.
    end: joined(
      waits.end,
      start.map((time) => time + MOMENT),
    ),
    lock: joined(
      waits.lock,
      pieces.thread.map((thread) => loopLock(recording, thread)),
    ),
    kind: joined(waits.kind, all(kind)),
    waiter: joined(waits.waiter, pieces.waitingContext),
    owner: joined(waits.owner, pieces.context),
    waiterFunction: joined(waits.waiterFunction, task(pieces.waiter)),
    ownerFunction: joined(waits.ownerFunction, task(pieces.owner)),
    ownerThread: joined(
      waits.ownerThread,
      pieces.thread.map((thread, i) =>
        pieces.step[i]! < 0 ? UNKNOWN : thread,
      ),
    ),
    ns: joined(waits.ns, pieces.ns),
    notification: joined(waits.notification, all(0)),
    part: joined(waits.part, all(0)),
    span: waits.span.length ? joined(waits.span, all(UNKNOWN)) : waits.span,
    loops: {
      first,
      waiterTask: pieces.waiter,
      ownerTask: pieces.owner,
      heldFunction: pieces.function,
    },
  };
}

/** In place of a length: shorter than any. */
export const MOMENT = 0.5;

/** The number of the loop that a thread runs among the locks, whose last ones are the loops. */
function loopLock(recording: Recording, thread: number): number {
  const { loops } = recording.meta;
  const place = loops.findIndex((loop) => loop.thread === thread);
  const first = recording.locks.length - loops.length - 1;
  return first + (place < 0 ? loops.length : place);
}
