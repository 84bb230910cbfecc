/** Run-queue latency, throttling and steal time as a strip below each lane. */
import type { Recording } from "../../../data/recording";
import type { Theme } from "../../../elements/theme";
import { totalLoss } from "../lanes/cpuloss";
import { isThreadLane } from "../lanes/lane";
import { barOf, GUTTER, visible, xOf, yOf, type Layout } from "./layout";

const HEIGHT = 4;

/** The darker, the larger the lost share of that time. */
export function drawCpuLoss(
  context: CanvasRenderingContext2D,
  recording: Recording,
  layout: Layout,
  theme: Theme,
): void {
  if (!recording.cpuLoss.length) return;
  const [first, last] = visible(layout);
  const places = new Map<number, number>();
  for (let place = first; place < last; place++)
    if (isThreadLane(layout.lanes[place]!))
      places.set(layout.lanes[place]!.thread, place);
  context.save();
  context.fillStyle = theme.colour("slower");
  for (const step of recording.cpuLoss) {
    const place = places.get(step.thread);
    if (place === undefined) continue;
    const left = Math.max(xOf(layout, step.start), GUTTER);
    const right = Math.min(xOf(layout, step.end), layout.width);
    if (right <= left) continue;
    context.globalAlpha = Math.min(
      totalLoss(step) / (step.end - step.start),
      1,
    );
    const bottom = yOf(layout, place) + barOf(layout);
    context.fillRect(left, bottom - HEIGHT, right - left, HEIGHT);
  }
  context.restore();
}
