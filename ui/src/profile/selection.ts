/**
 * Which samples count, and with how much of their time; the same as the reports' selection.
 *
 * A sample covers the `weight` nanoseconds that end at its `time`. A running one is in the
 * range or out of it as a whole, since its stack is that of the moment; a wait may be longer than
 * the range, so only the part inside it counts.
 */

import { RUNNING, type Recording, type Samples } from "../data/recording";

export type Time = "running" | "waiting" | "wall";

export interface Selection {
  readonly time: Time;
  readonly threads: readonly number[] | null;
  readonly processes: readonly number[] | null;
  /** A place in `meta.spans`. */
  readonly span: number | null;
  /** Row of the tasks: only what ran in it. Left out or null: everything. */
  readonly task?: number | null;
  readonly from: number | null;
  readonly to: number | null;
}

export const EVERYTHING: Selection = {
  time: "wall",
  threads: null,
  processes: null,
  span: null,
  from: null,
  to: null,
};

/** Whether the selection leaves out any thread, process, span or part of the time. */
export function isNarrowed(selection: Selection): boolean {
  return (
    selection.threads !== null ||
    selection.processes !== null ||
    selection.span !== null ||
    (selection.task ?? null) !== null ||
    selection.from !== null ||
    selection.to !== null
  );
}

/** By row of the table of threads: looked at (1) or not. */
export function threadMask(
  recording: Recording,
  selection: Selection,
): Uint8Array {
  const mask = new Uint8Array(recording.threads.length);
  const threads = selection.threads && new Set(selection.threads);
  const processes = selection.processes && new Set(selection.processes);
  recording.threads.forEach((thread, row) => {
    if (
      (!threads || threads.has(row)) &&
      (!processes || processes.has(thread.process))
    ) {
      mask[row] = 1;
    }
  });
  return mask;
}

/**
 * By path of spans: in one of the chosen name (1) or not; null: spans do not matter. A name that
 * the recording does not have has nothing in it.
 */
export function spanMask(
  recording: Recording,
  { span }: Pick<Selection, "span">,
): Uint8Array | null {
  if (span === null) return null;
  const { parent, name } = recording.spanPaths;
  const mask = new Uint8Array(parent.length);
  for (let i = 0; i < mask.length; i++) {
    if (name[i] === span || (parent[i] >= 0 && mask[parent[i]])) mask[i] = 1;
  }
  return mask;
}

/** Whether row `i` lies in a span of the mask. */
export function inSpan(
  mask: Uint8Array | null,
  span: Int32Array,
  i: number,
): boolean {
  if (mask === null) return true;
  // Without spans the column is empty: nothing lies in one.
  const path = span[i];
  return path >= 0 && mask[path] === 1;
}

/** Whether row `i` was taken in a task (null: any, or none). */
export function inTask(
  wanted: number | null | undefined,
  task: Int32Array,
  i: number,
): boolean {
  return wanted === null || wanted === undefined || task[i] === wanted;
}

/** Sums by context; the place after the last context takes the samples that have none. */
export interface Sums {
  readonly running: Float64Array;
  readonly waiting: Float64Array;
  readonly runningSamples: Float64Array;
  readonly waitingSamples: Float64Array;
}

/**
 * Samples with what makes a range of time quick to find: stretches of one thread, ascending in
 * time, and for each sample when the earliest of those from it on begins.
 */
export class SampleIndex {
  private readonly first: number[] = [];
  private readonly earliest: Float64Array;

  constructor(readonly samples: Samples) {
    const { thread, time, weight } = samples;
    const count = thread.length;
    this.earliest = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      if (!i || thread[i] !== thread[i - 1] || time[i] < time[i - 1])
        this.first.push(i);
    }
    this.first.push(count);
    for (let at = this.first.length - 1; at > 0; at--) {
      let least = Infinity;
      for (let i = this.first[at] - 1; i >= this.first[at - 1]; i--) {
        least = Math.min(least, time[i] - weight[i]);
        this.earliest[i] = least;
      }
    }
  }

  /** Calls `take` with each part of the table that may hold something of the range. */
  within(
    mask: Uint8Array,
    from: number,
    to: number,
    take: (start: number, end: number) => void,
  ): void {
    const { thread, time } = this.samples;
    for (let at = 0; at + 1 < this.first.length; at++) {
      let start = this.first[at];
      const last = this.first[at + 1];
      if (!mask[thread[start]]) continue;
      start = firstIndex(start, last, (i) => time[i] >= from);
      const end = firstIndex(
        start,
        last,
        (i) => time[i] >= to && this.earliest[i] >= to,
      );
      if (start < end) take(start, end);
    }
  }
}

/** The first index for which it holds, given that it holds for all after it too. */
function firstIndex(
  start: number,
  end: number,
  holds: (index: number) => boolean,
): number {
  while (start < end) {
    const middle = (start + end) >> 1;
    if (holds(middle)) end = middle;
    else start = middle + 1;
  }
  return start;
}

/**
 * The sums of a range, out of those of one nearby: only what lies between is looked at, so a drag
 * is followed at once. Times are whole nanoseconds, so nothing is lost by subtracting.
 * null: the ranges are too far apart for that, or the selections differ in more.
 */
export function shiftSums(
  recording: Recording,
  sampleIndex: SampleIndex,
  before: { readonly selection: Selection; readonly sums: Sums },
  selection: Selection,
): Sums | null {
  const { from, to } = selection;
  const { from: oldFrom, to: oldTo } = before.selection;
  if (from === null || to === null || oldFrom === null || oldTo === null)
    return null;
  if (!sameButRange(before.selection, selection)) return null;
  if (Math.abs(from - oldFrom) + Math.abs(to - oldTo) >= to - from) return null;
  const sums: Sums = {
    running: before.sums.running.slice(),
    waiting: before.sums.waiting.slice(),
    runningSamples: before.sums.runningSamples.slice(),
    waitingSamples: before.sums.waitingSamples.slice(),
  };
  const { running, waiting, runningSamples, waitingSamples } = sums;
  const { time, context, weight, state, span, task } = sampleIndex.samples;
  const none = running.length - 1;
  const ran = selection.time !== "waiting";
  const waited = selection.time !== "running";
  const mask = threadMask(recording, selection);
  const spans = spanMask(recording, selection);

  /** One end after the other: a wait may be longer than what lies between. */
  const step = (a: number, b: number, c: number, d: number) => {
    const [low, high] = a === c ? [b, d] : [a, c];
    const [first, last] = [Math.min(low, high), Math.max(low, high)];
    sampleIndex.within(mask, first, last, (start, stop) => {
      for (let i = start; i < stop; i++) {
        if (!inSpan(spans, span, i)) continue;
        if (!inTask(selection.task, task, i)) continue;
        const place = context[i] < 0 ? none : context[i];
        const end = time[i];
        if (state[i] === RUNNING) {
          if (!ran) continue;
          const change =
            (end >= c && end < d ? 1 : 0) - (end >= a && end < b ? 1 : 0);
          running[place] += change * weight[i];
          runningSamples[place] += change;
        } else {
          if (!waited) continue;
          const begin = end - weight[i];
          const was = Math.max(Math.min(end, b) - Math.max(begin, a), 0);
          const is = Math.max(Math.min(end, d) - Math.max(begin, c), 0);
          waiting[place] += is - was;
          waitingSamples[place] += (is > 0 ? 1 : 0) - (was > 0 ? 1 : 0);
        }
      }
    });
  };
  if (from !== oldFrom) step(oldFrom, oldTo, from, oldTo);
  if (to !== oldTo) step(from, oldTo, from, to);
  return sums;
}

function sameButRange(a: Selection, b: Selection): boolean {
  const same = (x: readonly number[] | null, y: readonly number[] | null) =>
    x === y || (x !== null && y !== null && x.join() === y.join());
  return (
    a.time === b.time &&
    a.span === b.span &&
    (a.task ?? null) === (b.task ?? null) &&
    same(a.threads, b.threads) &&
    same(a.processes, b.processes)
  );
}

/** One pass over the samples of the range: a million take some tens of milliseconds. */
export function sumSamples(
  recording: Recording,
  sampleIndex: SampleIndex,
  selection: Selection,
): Sums {
  const size = recording.contexts.parent.length + 1;
  const sums: Sums = {
    running: new Float64Array(size),
    waiting: new Float64Array(size),
    runningSamples: new Float64Array(size),
    waitingSamples: new Float64Array(size),
  };
  const { running, waiting, runningSamples, waitingSamples } = sums;
  const { time, context, weight, state, span, task } = sampleIndex.samples;
  const whole = selection.from === null && selection.to === null;
  const from = selection.from ?? -Infinity;
  const to = selection.to ?? Infinity;
  const ran = selection.time !== "waiting";
  const waited = selection.time !== "running";
  const mask = threadMask(recording, selection);
  const spans = spanMask(recording, selection);
  sampleIndex.within(mask, from, to, (start, last) => {
    for (let i = start; i < last; i++) {
      if (!inSpan(spans, span, i)) continue;
      if (!inTask(selection.task, task, i)) continue;
      const place = context[i] < 0 ? size - 1 : context[i];
      const end = time[i];
      if (state[i] === RUNNING) {
        if (!ran || end < from || end >= to) continue;
        running[place] += weight[i];
        runningSamples[place] += 1;
      } else {
        if (!waited) continue;
        const inside = Math.min(end, to) - Math.max(end - weight[i], from);
        if (!whole && inside <= 0) continue;
        waiting[place] += whole ? weight[i] : inside;
        waitingSamples[place] += 1;
      }
    }
  });
  return sums;
}
