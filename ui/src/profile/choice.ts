/**
 * Which samples count, and with how much of their time; the page's twin of the reports' selection.
 *
 * A sample stands for the `weight` nanoseconds that end at its `time`. A running one is in the
 * range or out of it as a whole, since its stack is that of the moment; a wait may be longer than
 * the range, so only the part inside it counts.
 */

import { RUNNING, type Recording, type Samples } from "../data/recording";
import type { Time } from "../shell/state";

export interface Choice {
  readonly time: Time;
  readonly threads: readonly number[] | null;
  readonly processes: readonly number[] | null;
  readonly from: number | null;
  readonly to: number | null;
}

export const EVERYTHING: Choice = {
  time: "wall",
  threads: null,
  processes: null,
  from: null,
  to: null,
};

/** Whether the choice leaves out any thread, process or span of time. */
export function narrowed(choice: Choice): boolean {
  return (
    choice.threads !== null ||
    choice.processes !== null ||
    choice.from !== null ||
    choice.to !== null
  );
}

/** By row of the table of threads: looked at (1) or not. */
export function threadMask(recording: Recording, choice: Choice): Uint8Array {
  const mask = new Uint8Array(recording.threads.length);
  const threads = choice.threads && new Set(choice.threads);
  const processes = choice.processes && new Set(choice.processes);
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

/** Sums by context; the place after the last context takes the samples that have none. */
export interface Sums {
  readonly running: Float64Array;
  readonly waiting: Float64Array;
  readonly runningSamples: Float64Array;
  readonly waitingSamples: Float64Array;
}

/** One pass over the samples: a million take about ten milliseconds. */
export function summed(
  recording: Recording,
  samples: Samples,
  choice: Choice,
): Sums {
  const size = recording.contexts.parent.length + 1;
  const sums: Sums = {
    running: new Float64Array(size),
    waiting: new Float64Array(size),
    runningSamples: new Float64Array(size),
    waitingSamples: new Float64Array(size),
  };
  const { running, waiting, runningSamples, waitingSamples } = sums;
  const { thread, time, context, weight, state } = samples;
  const whole = choice.from === null && choice.to === null;
  const from = choice.from ?? -Infinity;
  const to = choice.to ?? Infinity;
  const ran = choice.time !== "waiting";
  const waited = choice.time !== "running";
  const mask = threadMask(recording, choice);
  for (let i = 0; i < thread.length; i++) {
    if (!mask[thread[i]]) continue;
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
  return sums;
}
