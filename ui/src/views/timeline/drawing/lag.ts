/** How late an event loop was over time, as a line: the longest time a callback was ready. */
import { duration } from "../../../elements/format";
import type { Theme } from "../../../elements/theme";
import { barOf, GUTTER, xOf, yOf, type Layout } from "./layout";

export function drawLag(
  context: CanvasRenderingContext2D,
  layout: Layout,
  place: number,
  theme: Theme,
): void {
  const lag = layout.lanes[place]!.lag?.lag;
  if (!lag?.length) return;
  const { from, to } = layout.timeWindow;
  const seen = lag.filter(([start, end]) => end > from && start < to);
  const highest = seen.reduce((most, point) => Math.max(most, point[3]), 0);
  if (!highest) return;
  const bottom = yOf(layout, place) + barOf(layout);
  const high = barOf(layout) - 2;
  const y = (ns: number) => bottom - (ns / highest) * high;
  context.beginPath();
  context.moveTo(xOf(layout, seen[0]![0]), bottom);
  for (const [start, end, , longest] of seen) {
    context.lineTo(xOf(layout, start), y(longest));
    context.lineTo(xOf(layout, end), y(longest));
  }
  context.lineTo(xOf(layout, seen.at(-1)![1]), bottom);
  context.fillStyle = context.strokeStyle = theme.colour("off");
  context.globalAlpha = 0.25;
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = 1;
  context.stroke();
  context.font = `10px ${theme.font}`;
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillStyle = theme.colour("faint");
  context.fillText(`${duration(highest)}`, GUTTER + 3, bottom - high);
}
