/** How many threads ran and how many waited, as a mean over each small part of the time. */

import { RUNNING, type Samples, type Waits } from "../data/recording";
import { inSpan } from "../profile/selection";

export interface Concurrency {
  readonly running: Float64Array;
  readonly waiting: Float64Array;
}

/**
 * A sample covers its weight, ending at its time. Each interval is added in constant time: its
 * ends as parts of a bin, what lies between as a step up and a step down.
 */
export function concurrency(
  samples: Samples,
  waits: Waits | null,
  mask: Uint8Array,
  bins: number,
  whole: number,
  spans: Uint8Array | null = null,
): Concurrency {
  const running = new Bins(bins, whole);
  const waiting = new Bins(bins, whole);
  const { thread, time, weight, state, span } = samples;
  for (let i = 0; i < thread.length; i++) {
    if (!mask[thread[i]] || !inSpan(spans, span, i)) continue;
    const into = state[i] === RUNNING ? running : waiting;
    into.add(time[i] - weight[i], time[i]);
  }
  if (waits) {
    for (let i = 0; i < waits.thread.length; i++) {
      if (mask[waits.thread[i]] && inSpan(spans, waits.span, i))
        waiting.add(waits.start[i], waits.end[i]);
    }
  }
  return { running: running.means(), waiting: waiting.means() };
}

class Bins {
  private readonly edge: Float64Array;
  private readonly step: Float64Array;
  private readonly size: number;

  constructor(
    private readonly count: number,
    span: number,
  ) {
    this.size = span / count;
    this.edge = new Float64Array(count + 1);
    this.step = new Float64Array(count + 1);
  }

  add(start: number, end: number): void {
    const from = Math.max(0, start / this.size);
    const to = Math.min(this.count, end / this.size);
    if (to <= from) return;
    const first = Math.floor(from);
    const last = Math.min(this.count - 1, Math.floor(to));
    if (first >= last) {
      this.edge[first] += to - from;
      return;
    }
    this.edge[first] += first + 1 - from;
    this.edge[last] += to - last;
    this.step[first + 1] += 1;
    this.step[last] -= 1;
  }

  means(): Float64Array {
    const found = new Float64Array(this.count);
    let level = 0;
    for (let i = 0; i < this.count; i++) {
      level += this.step[i];
      found[i] = level + this.edge[i];
    }
    return found;
  }
}
