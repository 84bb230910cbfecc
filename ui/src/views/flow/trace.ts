/** Calls over time as nested bars, on a canvas that shows the visible lanes and times only. */

import type { CallSlices, Recording } from "../../data/recording";
import { threadName } from "../../data/names";
import { h, perFrame, sizeCanvas } from "../../elements/dom";
import { Extent } from "../../elements/extent";
import { printable } from "../../elements/format";
import type { Theme } from "../../elements/theme";
import { TextFitter } from "../flame/textfit";
import {
  panWindow,
  ticks,
  clampWindow,
  type TimeWindow,
} from "../timeline/drawing/window";
import { callAt, eachBar, type CallLane } from "./lanes";

const AXIS = 22;
const ROW = 18;
const GUTTER = 120;
const MIN_WINDOW = 200;
const MIN_TEXT = 24;
const ZOOM_STEP = 0.7;

export interface TraceHost {
  /** A call under the pointer or the cursor; null: none. */
  point(call: number | null, keep: boolean): void;
  moved(shown: TimeWindow): void;
}

export interface TraceData {
  recording: Recording;
  slices: CallSlices;
  lanes: CallLane[];
  flags: Uint8Array | null;
  theme: Theme;
  timeWindow: TimeWindow;
}

export class Trace {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas");
  private readonly spacer = h("div", { class: "spacer" });
  private readonly extent: Extent;
  private readonly draw = perFrame(() => this.paint());
  private data: TraceData | null = null;
  private shown: TimeWindow = { from: 0, to: 1 };
  private hovered = -1;
  private text: TextFitter | null = null;

  constructor(private readonly host: TraceHost) {
    this.element = h(
      "div",
      {
        class: "trace",
        tabindex: "0",
        role: "img",
        "aria-label":
          "Calls over time. Left and right move, plus and minus zoom, 0 shows all.",
      },
      h("div", { class: "pinned" }, this.canvas),
      this.spacer,
    );
    this.extent = new Extent(this.element, () => this.draw());
    this.listen();
  }

  show(data: TraceData): void {
    this.data = data;
    this.shown = data.timeWindow;
    const height = AXIS + data.lanes.length * ROW + 8;
    this.spacer.style.height = `${height}px`;
    this.text = null;
    this.draw();
  }

  /** Around the middle of what is shown; less than 1 is closer. */
  zoom(factor: number): void {
    this.zoomAround(factor, (this.shown.from + this.shown.to) / 2);
  }

  all(): void {
    this.move({ from: 0, to: this.whole });
  }

  destroy(): void {
    this.draw.cancel();
    this.extent.destroy();
  }

  private get whole(): number {
    return Math.max(this.data?.recording.meta.duration ?? 1, 1);
  }

  private get pixels(): number {
    return Math.max(this.extent.width - GUTTER, 10);
  }

  private move(shown: TimeWindow): void {
    this.shown = clampWindow(shown, this.whole);
    this.host.moved(this.shown);
    this.draw();
  }

  private zoomAround(factor: number, moment: number): void {
    const { from, to } = this.shown;
    const wanted = Math.max((to - from) * factor, MIN_WINDOW);
    const length = Math.min(wanted, this.whole);
    const share = (moment - from) / (to - from);
    const start = moment - share * length;
    this.move({ from: start, to: start + length });
  }

  private pan(share: number): void {
    const by = share * (this.shown.to - this.shown.from);
    this.move(panWindow(this.shown, by, this.whole));
  }

  private timeAt(x: number): number {
    const { from, to } = this.shown;
    return from + ((x - GUTTER) / this.pixels) * (to - from);
  }

  /** The call at a point of the canvas, -1: none. */
  private at(x: number, y: number): number {
    if (!this.data || y < AXIS || x < GUTTER) return -1;
    const { lanes, slices } = this.data;
    const lane = lanes[Math.floor((y - AXIS + this.extent.top) / ROW)];
    const slack = (this.shown.to - this.shown.from) / this.pixels / 2;
    return lane ? callAt(slices, lane, this.timeAt(x), slack) : -1;
  }

  private listen(): void {
    const { canvas, element } = this;
    const place = (event: MouseEvent) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    let last: number | null = null;
    let dragged = false;
    canvas.addEventListener(
      "wheel",
      (event) => {
        const { x } = place(event);
        // Over the names the wheel scrolls, as on the timeline.
        if (x < GUTTER) return;
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 16 : 1;
        const sideways = event.shiftKey ? event.deltaY : event.deltaX;
        if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY))
          this.pan((sideways * unit) / this.pixels);
        else
          this.zoomAround(
            Math.exp(event.deltaY * unit * 0.002),
            this.timeAt(x),
          );
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button > 1) return;
      last = place(event).x;
      dragged = false;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const { x, y } = place(event);
      if (last === null) {
        const call = this.at(x, y);
        if (call === this.hovered) return;
        this.hovered = call;
        this.host.point(call < 0 ? null : call, false);
        this.draw();
        return;
      }
      if (!dragged && Math.abs(x - last) < 4) return;
      dragged = true;
      this.pan((last - x) / this.pixels);
      last = x;
    });
    const release = (event: PointerEvent) => {
      const { x, y } = place(event);
      const call = this.at(x, y);
      if (last !== null && !dragged && call >= 0) this.host.point(call, true);
      last = null;
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", () => (last = null));
    canvas.addEventListener("pointerleave", () => {
      this.hovered = -1;
      this.host.point(null, false);
      this.draw();
    });
    canvas.addEventListener("dblclick", (event) => {
      const { x, y } = place(event);
      const call = this.at(x, y);
      if (call < 0) return;
      const { start, end } = this.data!.slices;
      const room = Math.max((end[call]! - start[call]!) * 0.1, MIN_WINDOW / 2);
      this.move({ from: start[call]! - room, to: end[call]! + room });
    });
    element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const share = event.shiftKey ? 0.5 : 0.1;
      const meanings: Record<string, () => void> = {
        ArrowLeft: () => this.pan(-share),
        ArrowRight: () => this.pan(share),
        "+": () => this.zoom(ZOOM_STEP),
        "=": () => this.zoom(ZOOM_STEP),
        "-": () => this.zoom(1 / ZOOM_STEP),
        "0": () => this.all(),
      };
      if (!Object.hasOwn(meanings, event.key)) return;
      meanings[event.key]!();
      event.preventDefault();
      event.stopPropagation();
    });
  }

  private paint(): void {
    const { data, extent } = this;
    if (!data || !extent.width) return;
    const { theme, lanes, recording, slices, flags } = data;
    const { width, height, top } = extent;
    const context = sizeCanvas(this.canvas, width, height);
    const font = `12px ${theme.font}`;
    this.text ??= new TextFitter(context, font);
    context.fillStyle = theme.colour("ground");
    context.fillRect(0, 0, width, height);
    context.font = font;
    context.textBaseline = "middle";
    const first = Math.max(Math.floor(top / ROW), 0);
    const last = Math.min(Math.ceil((top + height) / ROW), lanes.length);
    for (let i = first; i < last; i++) {
      const lane = lanes[i]!;
      const y = AXIS + i * ROW - top;
      if (i === first || lanes[i - 1]!.thread !== lane.thread) {
        context.fillStyle = theme.colour("text");
        const name = threadName(recording.threads[lane.thread]!);
        context.fillText(this.text.fit(name, GUTTER - 16), 8, y + ROW / 2);
        if (lane.first && lanes[i - 1]?.thread !== lane.thread) {
          context.fillStyle = theme.colour("line");
          context.fillRect(0, y - 1, width, 1);
        }
      }
      eachBar(slices, lane, this.shown, this.pixels, (x, wide, call, alone) => {
        const fn =
          recording.functions[recording.contexts.fn[slices.context[call]!]!]!;
        const found = flags?.[recording.contexts.fn[slices.context[call]!]!];
        const look = theme.module(fn.module);
        context.globalAlpha = flags && !found ? 0.45 : 1;
        context.fillStyle = found ? theme.colour("match") : look.fill;
        const gap = wide > 3 ? 1 : 0;
        context.fillRect(GUTTER + x, y + 1, wide - gap, ROW - 2);
        if (alone && wide >= MIN_TEXT) {
          context.fillStyle = found ? "#1b1e24" : look.text;
          const label = this.text!.fit(fn.name || "(no name)", wide - 8);
          context.fillText(printable(label), GUTTER + x + 4, y + ROW / 2);
        }
        if (call === this.hovered) {
          context.strokeStyle = theme.colour("text");
          context.strokeRect(
            GUTTER + x + 0.5,
            y + 1.5,
            Math.max(wide - 1, 1),
            ROW - 3,
          );
        }
        context.globalAlpha = 1;
      });
    }
    this.paintAxis(context, theme, width);
  }

  private paintAxis(
    context: CanvasRenderingContext2D,
    theme: Theme,
    width: number,
  ): void {
    context.fillStyle = theme.colour("raised");
    context.fillRect(0, 0, width, AXIS - 2);
    context.fillStyle = theme.colour("faint");
    const { from, to } = this.shown;
    for (const { time, label } of ticks(this.shown, this.pixels / 130)) {
      const x = GUTTER + ((time - from) / (to - from)) * this.pixels;
      context.fillRect(x, AXIS - 7, 1, 5);
      const room = context.measureText(label).width + 4;
      if (x + room < width) context.fillText(label, x + 4, AXIS / 2 - 1);
    }
  }
}
