/** Bytes of sampled objects by calling context, and how much is alive over time. */

import { UNKNOWN, type Objects, type Recording } from "../data/recording";
import { threadMask, type Selection, type Sums } from "./selection";

/** Those allocated in the selected time, or those alive at its end. */
export type Memory = "allocated" | "alive";

export function sumObjects(
  recording: Recording,
  objects: Objects,
  selection: Selection,
  memory: Memory,
): Sums {
  const size = recording.contexts.parent.length + 1;
  const running = new Float64Array(size);
  const runningSamples = new Float64Array(size);
  const mask = threadMask(recording, selection);
  const { thread, time, context, bytes } = objects;
  const from = selection.from ?? 0;
  const to = selection.to ?? Infinity;
  for (let i = 0; i < time.length; i++) {
    if (!mask[thread[i]]) continue;
    const counts =
      memory === "alive"
        ? isAlive(recording, objects, i, selection.to)
        : time[i] >= from && time[i] < to;
    if (!counts) continue;
    const place = context[i] < 0 ? size - 1 : context[i];
    running[place] += bytes[i];
    runningSamples[place] += 1;
  }
  return {
    running,
    runningSamples,
    waiting: new Float64Array(size),
    waitingSamples: new Float64Array(size),
  };
}

/** At a moment; null: in the end, of a process that ended when it did. */
function isAlive(
  recording: Recording,
  objects: Objects,
  i: number,
  at: number | null,
): boolean {
  if (at === null) return objects.length[i] === UNKNOWN;
  return objects.time[i] <= at && at < endOf(recording, objects, i);
}

function endOf(recording: Recording, objects: Objects, i: number): number {
  const { time, length, thread } = objects;
  if (length[i] !== UNKNOWN) return time[i] + length[i];
  const exit = recording.processes[recording.threads[thread[i]].process].end;
  return exit === null ? Infinity : exit + 1;
}

/** What is alive at the end of each of so many equal parts of the recording. */
export function aliveOver(
  recording: Recording,
  objects: Objects,
  selection: Selection,
  bins: number,
): Float64Array {
  const whole = Math.max(1, recording.meta.duration);
  const change = new Float64Array(bins + 1);
  const mask = threadMask(recording, selection);
  const bin = (time: number) =>
    Math.max(0, Math.min(bins, Math.ceil((time / whole) * bins) - 1));
  for (let i = 0; i < objects.time.length; i++) {
    if (!mask[objects.thread[i]]) continue;
    change[bin(objects.time[i])] += objects.bytes[i];
    const end = endOf(recording, objects, i);
    if (end <= whole) change[bin(end)] -= objects.bytes[i];
  }
  const alive = new Float64Array(bins);
  let sum = 0;
  for (let i = 0; i < bins; i++) {
    sum += change[i];
    alive[i] = Math.max(sum, 0);
  }
  return alive;
}
