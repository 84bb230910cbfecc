/** Drawing a lane of spans: a colour for each name, which is written where there is room. */
import type { Recording } from "../../../data/recording";
import type { Theme } from "../../../elements/theme";
import { TextFitter } from "../../flame/textfit";
import { firstAt } from "../lanes/lane";
import { barOf, GUTTER, xOf, yOf, type Layout } from "./layout";

/** A name is written into what is at least so wide and high. */
const WIDE = 24;
const HIGH = 10;

export function drawSpans(
  context: CanvasRenderingContext2D,
  layout: Layout,
  place: number,
  recording: Recording,
  theme: Theme,
): void {
  const spans = layout.lanes[place]!.spans;
  if (!spans) return;
  const top = yOf(layout, place);
  const high = barOf(layout) / spans.levels;
  const fitter = new TextFitter(context, `10px ${theme.font}`);
  const drawn = new Float64Array(spans.levels).fill(-Infinity);
  context.textBaseline = "middle";
  context.textAlign = "left";
  const { from: left, to: right } = layout.timeWindow;
  const { name } = recording.spanPaths;
  for (
    let i = firstAt(spans, left);
    i < spans.start.length && spans.start[i]! < right;
    i++
  ) {
    if (spans.end[i]! < left) continue;
    const level = spans.level[i]!;
    const x = Math.max(xOf(layout, spans.start[i]!), GUTTER);
    const end = Math.min(xOf(layout, spans.end[i]!), layout.width);
    // However many end within a pixel, one of them is drawn.
    if (end <= drawn[level]!) continue;
    const width = Math.max(end - x, 1);
    drawn[level] = x + width;
    const text = recording.meta.spans[name[spans.path[i]!]!]?.name ?? "";
    const look = theme.module(`span ${text}`);
    const y = top + level * high;
    context.fillStyle = look.fill;
    context.fillRect(
      x,
      y,
      width > 3 ? width - 1 : width,
      Math.max(high - 1, 1),
    );
    if (width < WIDE || high < HIGH) continue;
    context.font = fitter.font;
    context.fillStyle = look.text;
    context.fillText(fitter.fit(text, width - 6), x + 3, y + high / 2);
  }
}

/** The span at a place of the canvas, -1 if there is none. */
export function spanAt(
  layout: Layout,
  place: number,
  time: number,
  y: number,
): number {
  const spans = layout.lanes[place]?.spans;
  if (!spans) return -1;
  const row = Math.floor(
    ((y - yOf(layout, place)) / barOf(layout)) * spans.levels,
  );
  let found = -1;
  for (
    let i = firstAt(spans, time);
    i < spans.start.length && spans.start[i]! <= time;
    i++
  )
    if (spans.level[i] === row && spans.end[i]! > time) found = i;
  return found;
}
