/**
 * What each thread did when: one row of segments per thread, in order and without overlap.
 *
 * Lock events are exact, so they rule where samples say something else. A running sample tells how
 * much its thread ran since the sample before, not when: its time is put into the last gaps that no
 * lock wait fills. A sample of waiting stands for the time before it.
 */
import {
  RUNNING,
  WAITING,
  type Samples,
  type Waits,
} from "../../data/recording";

export const RUN = 0;
export const GIL = 1;
export const LOCK = 2;
/** Waits for another thread's signal: a queue, an event, a join. */
export const SIGNAL = 3;
/** Waits that no lock event explains: sleep, input and output. */
export const OTHER = 4;
/** Ready, but taken off the processor. */
export const OFF = 5;
export const STATES = 6;

export interface Lane {
  /** Row of the table of threads. */
  thread: number;
  start: Float64Array;
  end: Float64Array;
  state: Uint8Array;
  /** Row of the samples; of the waits where the state is one of GIL, LOCK, SIGNAL. */
  row: Int32Array;
  /** Nanoseconds by state. */
  spent: Float64Array;
}

export function isOfLock(state: number): boolean {
  return state === GIL || state === LOCK || state === SIGNAL;
}

/** A lane for each thread, by row of the table; `gil` is its number among the kinds. */
export function lanes(
  threads: number,
  samples: Samples,
  waits: Waits,
  gil: number,
): Lane[] {
  const sampled = byThread(samples.thread, threads);
  const waited = byThread(waits.thread, threads);
  const found: Lane[] = [];
  for (let thread = 0; thread < threads; thread++) {
    const mine = sampled[thread]!;
    const its = inOrder(waited[thread]!, waits.start);
    const lane = new Builder(samples, waits, gil, mine.length, its.length);
    found.push(lane.made(thread, mine, its));
  }
  return found;
}

class Builder {
  private readonly start: Float64Array;
  private readonly end: Float64Array;
  private readonly state: Uint8Array;
  private readonly row: Int32Array;
  private size = 0;
  private readonly spent = new Float64Array(STATES);
  /** Up to here everything is told. */
  private done = -Infinity;
  private next = 0;
  /** Free time before the sample at hand, as pairs, and the wait after each gap (-1: none). */
  private gaps: number[] = [];

  constructor(
    private readonly samples: Samples,
    private readonly waits: Waits,
    private readonly gil: number,
    sampled: number,
    waited: number,
  ) {
    // A wait is one segment, and may cut a sample into one more.
    const most = sampled + 2 * waited;
    this.start = new Float64Array(most);
    this.end = new Float64Array(most);
    this.state = new Uint8Array(most);
    this.row = new Int32Array(most);
  }

  made(thread: number, sampled: Int32Array, waited: Int32Array): Lane {
    for (const sample of sampled) this.sample(sample, waited);
    while (this.next < waited.length) this.wait(waited[this.next++]!);
    return {
      thread,
      start: this.start.slice(0, this.size),
      end: this.end.slice(0, this.size),
      state: this.state.slice(0, this.size),
      row: this.row.slice(0, this.size),
      spent: this.spent,
    };
  }

  private sample(sample: number, waited: Int32Array): void {
    const { samples, waits, gaps } = this;
    const end = samples.time[sample]!;
    const weight = samples.weight[sample]!;
    const running = samples.state[sample] === RUNNING;
    const state = running
      ? RUN
      : samples.state[sample] === WAITING
        ? OTHER
        : OFF;
    const next = waited[this.next];
    if (next === undefined || waits.start[next]! >= end) {
      this.add(Math.max(this.done, end - weight), end, state, sample);
      return;
    }
    // A running sample may be put anywhere since the one before, another where it says.
    let at = Math.max(this.done, running ? -Infinity : end - weight);
    gaps.length = 0;
    let upto = this.next;
    for (; upto < waited.length && waits.start[waited[upto]!]! < end; upto++) {
      gaps.push(at, Math.max(at, waits.start[waited[upto]!]!));
      at = Math.max(at, waits.end[waited[upto]!]!);
    }
    gaps.push(at, Math.max(at, end));
    let left = weight;
    for (let i = gaps.length - 2; i >= 0; i -= 2) {
      const from = Math.max(gaps[i]!, gaps[i + 1]! - left);
      left -= gaps[i + 1]! - from;
      gaps[i] = from;
    }
    for (let i = 0; i < gaps.length; i += 2) {
      this.add(gaps[i]!, gaps[i + 1]!, state, sample);
      if (this.next < upto) this.wait(waited[this.next++]!);
    }
  }

  private wait(row: number): void {
    const { waits } = this;
    const state = waits.signalling[row]
      ? SIGNAL
      : waits.kind[row] === this.gil
        ? GIL
        : LOCK;
    this.add(
      Math.max(this.done, waits.start[row]!),
      waits.end[row]!,
      state,
      row,
    );
  }

  private add(start: number, end: number, state: number, row: number): void {
    if (end <= start) return;
    const at = this.size++;
    this.start[at] = start;
    this.end[at] = end;
    this.state[at] = state;
    this.row[at] = row;
    this.spent[state]! += end - start;
    this.done = end;
  }
}

/** The segment at a moment, -1 where nothing is known. */
export function segmentAt(lane: Lane, time: number): number {
  const i = after(lane, time) - 1;
  return i >= 0 && lane.end[i]! > time ? i : -1;
}

/** The first segment that begins after a moment. */
export function after(lane: Lane, time: number): number {
  let low = 0;
  let high = lane.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.start[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Rows by thread, in the order they have. */
export function byThread(
  thread: ArrayLike<number>,
  threads: number,
): Int32Array[] {
  const sizes = new Int32Array(threads);
  for (let i = 0; i < thread.length; i++) sizes[thread[i]!]!++;
  const found = Array.from(sizes, (size) => new Int32Array(size));
  sizes.fill(0);
  for (let i = 0; i < thread.length; i++)
    found[thread[i]!]![sizes[thread[i]!]!++] = i;
  return found;
}

/** The rows by their start; they mostly are in order. */
function inOrder(rows: Int32Array, start: Float64Array): Int32Array {
  for (let i = 1; i < rows.length; i++) {
    if (start[rows[i]!]! < start[rows[i - 1]!]!) {
      return rows.sort((a, b) => start[a]! - start[b]! || a - b);
    }
  }
  return rows;
}
