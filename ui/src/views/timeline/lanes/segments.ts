/**
 * What each thread did when: one row of segments per thread, in order and without overlap.
 *
 * Lock events are exact, so they win where samples differ. An off-CPU sample covers the time before
 * it. A CPU sample shows how long its thread ran since the CPU sample before, not when: its time is
 * put into the last gaps that no wait fills, where it must have been.
 */
import {
  RUNNING,
  WAITING,
  type Samples,
  type Waits,
} from "../../../data/recording";
import { inSpan } from "../../../profile/selection";
import {
  GIL,
  LOCK,
  RUNNABLE,
  OTHER,
  RUN,
  NOTIFICATION,
  type Lane,
} from "./lane";

/**
 * A lane for each thread, by row of the table; `gil` is its number among the kinds, `spans` a mask
 * of the selected paths of spans (null: all).
 */
export function buildLanes(
  threads: number,
  samples: Samples,
  waits: Waits,
  gil: number,
  spans: Uint8Array | null = null,
): Lane[] {
  const sampled = byThread(samples.thread, threads);
  const waited = byThread(waits.thread, threads);
  return Array.from({ length: threads }, (_, thread) => {
    const mine = sampled[thread]!.filter((row) =>
      inSpan(spans, samples.span, row),
    );
    const off = mine.filter((row) => samples.state[row] !== RUNNING);
    const on = mine.filter((row) => samples.state[row] === RUNNING);
    const lockWaits = inOrder(
      waited[thread]!.filter((row) => inSpan(spans, waits.span, row)),
      waits.start,
    );
    return lane(
      thread,
      runSegments(
        samples,
        on,
        blockedSegments(samples, waits, gil, off, lockWaits),
      ),
    );
  });
}

/** Segments as they are made. */
class Track {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly state: Uint8Array;
  readonly row: Int32Array;
  size = 0;
  /** Segments are complete up to here. */
  done = -Infinity;

  constructor(most: number) {
    this.start = new Float64Array(most);
    this.end = new Float64Array(most);
    this.state = new Uint8Array(most);
    this.row = new Int32Array(most);
  }

  add(start: number, end: number, state: number, row: number): void {
    if (end <= start) return;
    const at = this.size++;
    this.start[at] = start;
    this.end[at] = end;
    this.state[at] = state;
    this.row[at] = row;
    this.done = end;
  }
}

/** When the thread could not run: its waits, and off-CPU samples where there is no wait. */
function blockedSegments(
  samples: Samples,
  waits: Waits,
  gil: number,
  off: Int32Array,
  waited: Int32Array,
): Track {
  // A wait is one segment, and may cut a sample into one more.
  const track = new Track(off.length + 2 * waited.length);
  let next = 0;
  const wait = () => {
    const row = waited[next++]!;
    const kind = waits.kind[row] === gil ? GIL : LOCK;
    const state = waits.notification[row] ? NOTIFICATION : kind;
    track.add(
      Math.max(track.done, waits.start[row]!),
      waits.end[row]!,
      state,
      row,
    );
  };
  for (const sample of off) {
    const end = samples.time[sample]!;
    const state = samples.state[sample] === WAITING ? OTHER : RUNNABLE;
    let at = Math.max(track.done, end - samples.weight[sample]!);
    while (next < waited.length && waits.start[waited[next]!]! < end) {
      track.add(at, waits.start[waited[next]!]!, state, sample);
      wait();
      at = Math.max(at, track.done);
    }
    track.add(at, end, state, sample);
  }
  while (next < waited.length) wait();
  return track;
}

/** The running samples put between what kept the thread from running. */
function runSegments(samples: Samples, on: Int32Array, blocks: Track): Track {
  const track = new Track(on.length + 2 * blocks.size);
  let next = 0;
  const block = () => {
    const { start, end, state, row } = blocks;
    track.add(
      Math.max(start[next]!, track.done),
      end[next]!,
      state[next]!,
      row[next]!,
    );
    next++;
  };
  /** Free time since the sample before, as pairs. */
  const gaps: number[] = [];
  for (const sample of on) {
    const end = samples.time[sample]!;
    let left = samples.weight[sample]!;
    if (next === blocks.size || blocks.start[next]! >= end) {
      track.add(Math.max(track.done, end - left), end, RUN, sample);
      continue;
    }
    gaps.length = 0;
    let at = track.done;
    let upto = next;
    for (; upto < blocks.size && blocks.start[upto]! < end; upto++) {
      gaps.push(at, Math.max(at, blocks.start[upto]!));
      at = Math.max(at, blocks.end[upto]!);
    }
    gaps.push(at, Math.max(at, end));
    for (let i = gaps.length - 2; i >= 0; i -= 2) {
      const from = Math.max(gaps[i]!, gaps[i + 1]! - left);
      left -= gaps[i + 1]! - from;
      gaps[i] = from;
    }
    for (let i = 0; i < gaps.length; i += 2) {
      track.add(gaps[i]!, gaps[i + 1]!, RUN, sample);
      if (next < upto) block();
    }
  }
  while (next < blocks.size) block();
  return track;
}

function lane(thread: number, track: Track): Lane {
  return {
    thread,
    start: track.start.slice(0, track.size),
    end: track.end.slice(0, track.size),
    state: track.state.slice(0, track.size),
    row: track.row.slice(0, track.size),
  };
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
export function inOrder(rows: Int32Array, start: Float64Array): Int32Array {
  for (let i = 1; i < rows.length; i++) {
    if (start[rows[i]!]! < start[rows[i - 1]!]!) {
      return rows.sort((a, b) => start[a]! - start[b]! || a - b);
    }
  }
  return rows;
}
