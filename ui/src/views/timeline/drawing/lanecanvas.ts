/** The lanes with their labels and the axis: what changes only with the window and the filters. */
import type { Recording } from "../../../data/recording";
import { sizeCanvas } from "../../../elements/dom";
import {
  count,
  displayName,
  duration,
  shorten,
} from "../../../elements/format";
import type { Theme } from "../../../elements/theme";
import { isThreadLane, STATES, type Lane } from "../lanes/lane";
import { sortValue, type Order } from "../lanes/order";
import type { Times } from "../lanes/times";
import { columns } from "./columns";
import { drawCpuLoss } from "./cpuloss";
import {
  AXIS,
  barOf,
  GUTTER,
  plotWidth,
  visible,
  xOf,
  yOf,
  type Layout,
} from "./layout";
import { drawLag } from "./lag";
import { drawSpans } from "./spans";
import { packPixel, paint, rgb, textures, type Textures } from "./texture";
import { ticks } from "./window";

export class LaneCanvas {
  private look: Textures | null = null;
  private lookOf = "";
  private image: ImageData | null = null;
  private shares = new Float32Array(0);

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly recording: Recording,
  ) {}

  draw(layout: Layout, theme: Theme, order: Order, times: Times): void {
    const context = sizeCanvas(this.canvas, layout.width, layout.height);
    context.fillStyle = theme.colour("ground");
    context.fillRect(0, 0, layout.width, layout.height);
    this.bars(context, layout, theme);
    drawCpuLoss(context, this.recording, layout, theme);
    this.spans(context, layout, theme);
    this.labels(context, layout, theme, order, times);
    this.axis(context, layout, theme);
  }

  private bars(
    context: CanvasRenderingContext2D,
    layout: Layout,
    theme: Theme,
  ): void {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(plotWidth(layout) * ratio);
    const height = Math.round((layout.height - AXIS) * ratio);
    if (width < 1 || height < 1) return;
    const lookOf = `${theme.dark} ${ratio}`;
    if (!this.look || lookOf !== this.lookOf) {
      this.look = textures(theme, ratio);
      this.lookOf = lookOf;
    }
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.shares = new Float32Array(width * STATES);
    }
    const data = new Uint32Array(this.image.data.buffer);
    data.fill(packPixel(rgb(theme.colour("ground"))));
    const picture = { data, width, height };
    const alive = packPixel(rgb(theme.colour("raised")));
    const { from, to } = layout.timeWindow;
    const [first, last] = visible(layout);
    const perPixel = width / (to - from);
    for (let place = first; place < last; place++) {
      const lane = layout.lanes[place]!;
      if (!isThreadLane(lane) && !lane.task) continue;
      const top = Math.round((yOf(layout, place) - AXIS) * ratio);
      const tall = Math.round(barOf(layout) * ratio);
      const thread = lane.task ?? this.recording.threads[lane.thread]!;
      const left = clamp(Math.round((thread.start - from) * perPixel), width);
      const right = clamp(Math.round((thread.end - from) * perPixel), width);
      for (let y = Math.max(top, 0); y < Math.min(top + tall, height); y++) {
        data.fill(alive, y * width + left, y * width + Math.max(left, right));
      }
      columns(lane, from, to, width, this.shares);
      paint(picture, this.look, this.shares, top, tall);
    }
    context.putImageData(
      this.image,
      Math.round(GUTTER * ratio),
      Math.round(AXIS * ratio),
    );
  }

  private spans(
    context: CanvasRenderingContext2D,
    layout: Layout,
    theme: Theme,
  ): void {
    const [first, last] = visible(layout);
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, layout.width - GUTTER, layout.height - AXIS);
    context.clip();
    for (let place = first; place < last; place++) {
      drawSpans(context, layout, place, this.recording, theme);
      drawLag(context, layout, place, theme);
    }
    context.restore();
  }

  private labels(
    context: CanvasRenderingContext2D,
    layout: Layout,
    theme: Theme,
    order: Order,
    times: Times,
  ): void {
    const several = this.recording.processes.length > 1;
    const [first, last] = visible(layout);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, GUTTER, layout.height - AXIS);
    context.clip();
    context.textBaseline = "middle";
    for (let place = first; place < last; place++) {
      const lane = layout.lanes[place]!;
      const thread = this.recording.threads[lane.thread];
      const y = yOf(layout, place) + barOf(layout) / 2 + 0.5;
      context.font = `11px ${theme.font}`;
      context.textAlign = "right";
      context.fillStyle = theme.colour("faint");
      const figure = lane.spans
        ? count(lane.spans.start.length, "span")
        : lane.task
          ? duration(lane.task.ready)
          : thread
            ? duration(sortValue(times, lane.thread, order))
            : "";
      context.fillText(figure, GUTTER - 8, y);
      const room = GUTTER - 28 - context.measureText(figure).width;
      context.font = `12px ${theme.font}`;
      context.textAlign = "left";
      if (lane.spans) continue;
      context.fillStyle = theme.colour(thread ? "text" : "faint");
      if (!thread) {
        const said = loopLabel(lane);
        context.fillText(fitted(context, said, room - INDENT), 12 + INDENT, y);
        continue;
      }
      const pid = this.recording.processes[thread.process]?.pid;
      const name = several ? `${pid} ${thread.label}` : thread.label;
      context.fillText(fitted(context, name, room), 12, y);
    }
    context.restore();
  }

  private axis(
    context: CanvasRenderingContext2D,
    layout: Layout,
    theme: Theme,
  ): void {
    context.fillStyle = theme.colour("ground");
    context.fillRect(0, 0, layout.width, AXIS);
    context.font = `11px ${theme.font}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (const tick of ticks(layout.timeWindow, plotWidth(layout) / 130)) {
      const x = Math.round(xOf(layout, tick.time)) + 0.5;
      context.strokeStyle = theme.colour("line");
      context.beginPath();
      context.moveTo(x, AXIS - 6);
      context.lineTo(x, AXIS);
      context.stroke();
      context.globalAlpha = 0.35;
      context.beginPath();
      context.moveTo(x, AXIS);
      context.lineTo(x, layout.height);
      context.stroke();
      context.globalAlpha = 1;
      context.fillStyle = theme.colour("faint");
      const half = context.measureText(tick.label).width / 2;
      const middle = Math.min(x, layout.width - half - 2);
      context.fillText(tick.label, middle, AXIS - 13);
    }
    this.marks(context, layout, theme);
  }

  /** Flags; where they are too close to each other only the first one is named. */
  private marks(
    context: CanvasRenderingContext2D,
    layout: Layout,
    theme: Theme,
  ): void {
    let free = -Infinity;
    context.textAlign = "left";
    for (const mark of this.recording.marks) {
      const x = xOf(layout, mark.time);
      if (x < GUTTER || x > layout.width) continue;
      const place =
        mark.thread < 0
          ? -1
          : layout.lanes.findIndex((lane) => lane.thread === mark.thread);
      context.strokeStyle = context.fillStyle = theme.colour("accent");
      context.globalAlpha = 0.7;
      context.beginPath();
      context.moveTo(x, 4);
      context.lineTo(
        x,
        place < 0 ? layout.height : yOf(layout, place) + barOf(layout),
      );
      context.stroke();
      context.globalAlpha = 1;
      context.beginPath();
      context.moveTo(x, 3);
      context.lineTo(x + 7, 7);
      context.lineTo(x, 11);
      context.fill();
      if (x < free) continue;
      const text = shorten(mark.text, 40);
      context.fillText(text, x + 10, 8);
      free = x + 18 + context.measureText(text).width;
    }
  }
}

/** Pixels by which tasks stand behind the thread of their loop. */
const INDENT = 12;

function loopLabel(lane: Lane): string {
  if (lane.lag) return "lag of the event loop";
  return lane.task
    ? displayName(lane.task.name)
    : `… ${count(lane.folded ?? 0, "more task")}`;
}

/** The text cut to a width. */
function fitted(
  context: CanvasRenderingContext2D,
  text: string,
  width: number,
): string {
  for (let most = 60; most >= 3; most -= most > 20 ? 5 : 1) {
    const shown = shorten(text, most);
    if (context.measureText(shown).width <= width) return shown;
  }
  return "";
}

function clamp(value: number, most: number): number {
  return Math.min(Math.max(value, 0), most);
}
