/** One wait: what for, how long, and who had it meanwhile. */
import type { Recording, Waits } from "../../data/recording";

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
  signal: boolean;
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
  const first = parts[0]!.row;
  return {
    number,
    thread: waits.thread[first]!,
    lock: waits.lock[first]!,
    start: parts[0]!.start,
    end: parts.at(-1)!.end,
    ns,
    signal: waits.signalling[first] === 1,
    parts,
  };
}

export function lockName(recording: Recording, lock: number): string {
  return recording.locks[lock]?.name ?? "a lock";
}

/** What a recording without waits has. */
export function noWaits(): Promise<Waits> {
  const ints = new Int32Array(0);
  const floats = new Float64Array(0);
  const bytes = new Uint8Array(0);
  return Promise.resolve({
    wait: ints,
    thread: ints,
    start: floats,
    end: floats,
    lock: ints,
    kind: bytes,
    waiter: ints,
    owner: ints,
    waiterFunction: ints,
    ownerFunction: ints,
    ownerThread: ints,
    ns: floats,
    signalling: bytes,
  });
}
