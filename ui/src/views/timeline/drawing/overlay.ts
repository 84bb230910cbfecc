/** Drawn over the lanes: the selected range, the selected wait with its arrows, the pointer. */
import { sizeCanvas } from "../../../elements/dom";
import { duration } from "../../../elements/format";
import type { Theme } from "../../../elements/theme";
import type { OwnerWait, Wait } from "../lanes/wait";
import { AXIS, barOf, GUTTER, timeAt, xOf, yOf, type Layout } from "./layout";
import type { TimeWindow } from "./window";

/** Of a wait with many holders, the longest are drawn. */
const ARROWS = 40;

export interface OverlayState {
  range: TimeWindow | null;
  wait: Wait | null;
  /** What the owners of that wait waited for themselves. */
  ownerWaits: OwnerWait[];
  pointer: { x: number; y: number } | null;
  /** The lane that keys act on, -1: none. */
  cursor: number;
}

export function drawOverlay(
  canvas: HTMLCanvasElement,
  layout: Layout,
  theme: Theme,
  over: OverlayState,
): void {
  const context = sizeCanvas(canvas, layout.width, layout.height);
  context.clearRect(0, 0, layout.width, layout.height);
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, layout.width - GUTTER, layout.height);
  context.clip();
  if (over.range) range(context, layout, theme, over.range);
  if (over.pointer && over.pointer.x >= GUTTER) {
    const x = Math.round(over.pointer.x) + 0.5;
    context.strokeStyle = theme.colour("faint");
    context.globalAlpha = 0.6;
    line(context, x, AXIS - 6, x, layout.height);
    context.globalAlpha = 1;
  }
  if (over.wait) drawWait(context, layout, theme, over.wait, over.ownerWaits);
  context.restore();
  if (over.cursor >= 0) {
    context.strokeStyle = theme.colour("accent");
    context.strokeRect(
      3.5,
      yOf(layout, over.cursor) - 1.5,
      layout.width - 12,
      barOf(layout) + 3,
    );
  }
}

function range(
  context: CanvasRenderingContext2D,
  layout: Layout,
  theme: Theme,
  chosen: TimeWindow,
): void {
  const left = Math.max(xOf(layout, chosen.from), GUTTER);
  const right = Math.min(xOf(layout, chosen.to), layout.width);
  context.fillStyle = theme.colour("ground");
  context.globalAlpha = 0.62;
  context.fillRect(
    GUTTER,
    AXIS,
    Math.max(left - GUTTER, 0),
    layout.height - AXIS,
  );
  context.fillRect(right, AXIS, layout.width - right, layout.height - AXIS);
  context.globalAlpha = 1;
  context.strokeStyle = context.fillStyle = theme.colour("accent");
  for (const x of [left, right]) line(context, x, AXIS - 6, x, layout.height);
  context.fillRect(left, AXIS - 4, Math.max(right - left, 1), 4);
  const words = duration(chosen.to - chosen.from);
  context.font = `600 11px ${theme.font}`;
  context.textAlign = "center";
  const width = context.measureText(words).width + 12;
  const middle = (left + right) / 2;
  context.fillRect(middle - width / 2, 0, width, 16);
  context.fillStyle = theme.colour("ground");
  context.textBaseline = "middle";
  context.fillText(words, middle, 8.5);
}

function drawWait(
  context: CanvasRenderingContext2D,
  layout: Layout,
  theme: Theme,
  wait: Wait,
  ownerWaits: OwnerWait[],
): void {
  const mine = placeOf(layout, wait.thread);
  if (mine < 0) return;
  context.strokeStyle = theme.colour("text");
  context.lineWidth = 2;
  const left = xOf(layout, wait.start);
  const right = Math.max(xOf(layout, wait.end), left + 2);
  context.strokeRect(
    left,
    yOf(layout, mine) - 1,
    right - left,
    barOf(layout) + 2,
  );
  const known = wait.parts
    .filter((part) => part.owner >= 0)
    .sort((a, b) => b.end - b.start - (a.end - a.start))
    .slice(0, ARROWS);
  context.strokeStyle = context.fillStyle = theme.colour("faint");
  context.lineWidth = 1.5;
  for (const one of ownerWaits.slice(0, ARROWS))
    arrow(context, layout, one, true);
  context.strokeStyle = context.fillStyle = theme.colour("accent");
  context.lineWidth = 2;
  for (const part of known)
    arrow(context, layout, { ...part, thread: wait.thread }, wait.notification);
  context.lineWidth = 1;
}

/** From the holder, at the release, to the waiter; the time it was held is underlined. */
function arrow(
  context: CanvasRenderingContext2D,
  layout: Layout,
  part: { owner: number; thread: number; start: number; end: number },
  dashed: boolean,
): void {
  const owner = placeOf(layout, part.owner);
  const waiter = placeOf(layout, part.thread);
  if (owner < 0 || waiter < 0 || owner === waiter) return;
  const { from, to } = layout.timeWindow;
  if (part.end < from || part.start > to) return;
  const down = owner < waiter;
  const x = clampX(xOf(layout, part.end), layout.width);
  const edge = yOf(layout, owner) + (down ? barOf(layout) + 2 : -2);
  const end = yOf(layout, waiter) + (down ? -3 : barOf(layout) + 3);
  context.setLineDash(dashed ? [3, 3] : []);
  line(context, clampX(xOf(layout, part.start), layout.width), edge, x, edge);
  const bend = Math.min(14, Math.abs(end - edge) / 3);
  const along = (share: number) => edge + (end - edge) * share;
  context.beginPath();
  context.moveTo(x, edge);
  context.bezierCurveTo(x + bend, along(0.3), x + bend, along(0.7), x, end);
  context.stroke();
  context.setLineDash([]);
  const back = down ? -8 : 8;
  context.beginPath();
  context.moveTo(x, end);
  context.lineTo(x - 4.5, end + back);
  context.lineTo(x + 4.5, end + back);
  context.fill();
}

function placeOf(layout: Layout, thread: number): number {
  return layout.lanes.findIndex((lane) => lane.thread === thread);
}

function clampX(x: number, width: number): number {
  return Math.min(Math.max(x, GUTTER + 1), width - 6);
}

function line(
  context: CanvasRenderingContext2D,
  x1: number,
  y1: number,
  x2: number,
  y2: number,
): void {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

/** A range between two points of the canvas, inside the recording. */
export function rangeBetween(
  layout: Layout,
  a: number,
  b: number,
  whole: number,
): TimeWindow {
  const inside = (x: number) =>
    Math.round(Math.min(Math.max(timeAt(layout, x), 0), whole));
  const [from, to] = [inside(Math.min(a, b)), inside(Math.max(a, b))];
  return { from, to: Math.max(to, from + 1) };
}

/** How far to scroll so that a lane is visible. */
export function scrollToLane(layout: Layout, place: number): number {
  const top = place * layout.lane;
  const room = layout.height - AXIS;
  if (top < layout.scroll) return top;
  if (top + layout.lane > layout.scroll + room) return top + layout.lane - room;
  return layout.scroll;
}
