/** Run-queue latency, throttling and steal time of each thread: a strip below its lane. */
import type { Recording } from "../../data/recording";
import { duration } from "../../shell/format";
import type { Theme } from "../../shell/theme";
import { isOfThread } from "./lane";
import { barOf, GUTTER, visible, xOf, yOf, type Layout } from "./layout";

const HEIGHT = 4;

export interface Stolen {
  queue: number;
  quota: number;
  hypervisor: number;
}

const THIEVES: readonly (readonly [keyof Stolen, string])[] = [
  ["queue", "run-queue latency"],
  ["quota", "CPU throttling"],
  ["hypervisor", "steal time"],
];

/** By row of the table of threads, in all. */
export function stolen(recording: Recording): Stolen[] {
  const found = recording.threads.map(() => ({
    queue: 0,
    quota: 0,
    hypervisor: 0,
  }));
  for (const step of recording.taken) {
    const thread = found[step.thread];
    if (!thread) continue;
    for (const [thief] of THIEVES) thread[thief] += step[thief];
  }
  return found;
}

export function sum({ queue, quota, hypervisor }: Stolen): number {
  return queue + quota + hypervisor;
}

/** As "run-queue latency 1.2 s, CPU throttling 300 ms"; empty if there was none. */
export function words(lost: Stolen): string {
  return THIEVES.filter(([thief]) => lost[thief] > 0)
    .map(([thief, name]) => `${name} ${duration(lost[thief])}`)
    .join(", ");
}

/** The darker, the more of that time was taken. */
export function drawTaken(
  context: CanvasRenderingContext2D,
  recording: Recording,
  layout: Layout,
  theme: Theme,
): void {
  if (!recording.taken.length) return;
  const [first, last] = visible(layout);
  const places = new Map<number, number>();
  for (let place = first; place < last; place++)
    if (isOfThread(layout.lanes[place]!))
      places.set(layout.lanes[place]!.thread, place);
  context.save();
  context.fillStyle = theme.colour("slower");
  for (const step of recording.taken) {
    const place = places.get(step.thread);
    if (place === undefined) continue;
    const left = Math.max(xOf(layout, step.start), GUTTER);
    const right = Math.min(xOf(layout, step.end), layout.width);
    if (right <= left) continue;
    context.globalAlpha = Math.min(sum(step) / (step.end - step.start), 1);
    const bottom = yOf(layout, place) + barOf(layout);
    context.fillRect(left, bottom - HEIGHT, right - left, HEIGHT);
  }
  context.restore();
}
