/** One wait: what for, how long, and who held it meanwhile. */
import type { Recording, Waits } from "../../../data/recording";
import { firstAfter, isLockState, NOTIFICATION, type Lane } from "./lane";

export interface Part {
  row: number;
  start: number;
  end: number;
  /** Row of the table of threads, -1: could not be known. */
  owner: number;
}

export interface Wait {
  number: number;
  thread: number;
  lock: number;
  start: number;
  end: number;
  ns: number;
  notification: boolean;
  /** In the order of time. */
  parts: Part[];
}

export function waitOf(waits: Waits, number: number): Wait | null {
  const parts: Part[] = [];
  let ns = 0;
  for (let row = 0; row < waits.wait.length; row++) {
    if (waits.wait[row] !== number) continue;
    ns += waits.ns[row]!;
    parts.push({
      row,
      start: waits.start[row]!,
      end: waits.end[row]!,
      owner: waits.ownerThread[row]!,
    });
  }
  if (!parts.length) return null;
  parts.sort((a, b) => a.start - b.start);
  joinParts(waits, parts);
  const first = parts[0]!.row;
  return {
    number,
    thread: waits.thread[first]!,
    lock: waits.lock[first]!,
    start: parts[0]!.start,
    end: parts.at(-1)!.end,
    ns,
    notification: waits.notification[first] === 1,
    parts,
  };
}

/** Parts that follow each other and are of one owner at one place become one. */
function joinParts(waits: Waits, parts: Part[]): void {
  for (let i = parts.length - 1; i > 0; i--) {
    const [before, part] = [parts[i - 1]!, parts[i]!];
    const same =
      before.owner === part.owner &&
      before.end === part.start &&
      waits.owner[before.row] === waits.owner[part.row];
    if (!same) continue;
    before.end = part.end;
    parts.splice(i, 1);
  }
}

/**
 * The segment of the next wait of a lane (`by` 1) or of the one before (-1), counted from a wait or
 * else from a moment; -1 if there is none.
 */
export function nextWait(
  lane: Lane,
  now: Wait | null,
  by: 1 | -1,
  moment: number,
): number {
  const beyond = (start: number) =>
    by > 0 ? start >= (now?.end ?? moment) : start < (now?.start ?? moment);
  const size = lane.start.length;
  for (let i = by > 0 ? 0 : size - 1; i >= 0 && i < size; i += by) {
    if (isLockState(lane.state[i]!) && beyond(lane.start[i]!)) return i;
  }
  return -1;
}

/** What a holder waited for while others waited for it: their wait is attributed further. */
export interface OwnerWait {
  /** Who waited, and who had what it waited for. */
  thread: number;
  owner: number;
  lock: number;
  /** From its first such wait to the end of the last, and the time waited. */
  start: number;
  end: number;
  ns: number;
}

/** How far waits are attributed further. */
const MAX_DEPTH = 4;
/** Smaller parts of the time are left out. */
const MIN_SHARE = 0.05;

/**
 * What a thread itself waited for in a stretch of time, each lock and owner once, the longest
 * first, followed by what those owners waited for. Waits for notifications are not followed.
 */
export function ownerWaits(
  waits: Waits,
  lanes: readonly Lane[],
  thread: number,
  start: number,
  end: number,
  deep = 0,
): OwnerWait[] {
  const lane = lanes[thread];
  if (!lane || deep === MAX_DEPTH) return [];
  const found = new Map<string, OwnerWait>();
  let i = Math.max(firstAfter(lane, start) - 1, 0);
  for (; i < lane.start.length && lane.start[i]! < end; i++) {
    const state = lane.state[i]!;
    if (!isLockState(state) || state === NOTIFICATION) continue;
    const from = Math.max(lane.start[i]!, start);
    const to = Math.min(lane.end[i]!, end);
    if (to <= from) continue;
    const row = lane.row[i]!;
    const [lock, owner] = [waits.lock[row]!, waits.ownerThread[row]!];
    const known = found.get(`${lock} ${owner}`);
    if (known) {
      known.end = to;
      known.ns += to - from;
    } else {
      const one = { thread, owner, lock, start: from, end: to, ns: to - from };
      found.set(`${lock} ${owner}`, one);
    }
  }
  return [...found.values()]
    .filter((one) => one.ns >= MIN_SHARE * (end - start))
    .sort((a, b) => b.ns - a.ns)
    .slice(0, 3)
    .flatMap((one) => [
      one,
      ...(one.owner < 0
        ? []
        : ownerWaits(waits, lanes, one.owner, one.start, one.end, deep + 1)),
    ]);
}

export function lockName(recording: Recording, lock: number): string {
  return recording.locks[lock]?.name ?? "a lock";
}
