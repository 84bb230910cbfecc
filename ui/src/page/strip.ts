/**
 * The overview strip: how many threads ran and how many waited, over the time of the recording, and
 * how much of the sampled memory was alive.
 * Drag to choose a range, which every view obeys; drag inside to move it, double-click to clear it.
 */

import type { Objects, Recording, Samples, Waits } from "../data/recording";
import { fill, h, perFrame, sizeCanvas } from "../elements/dom";
import { Extent } from "../elements/extent";
import { amount, duration, moment } from "../elements/format";
import { aliveOver } from "../profile/memory";
import { spanMask, threadMask } from "../profile/selection";
import type { App, Part } from "../shell/app";
import { concurrency, type Concurrency } from "./concurrency";

const TIME_HEIGHT = 56;
const MEMORY_HEIGHT = 24;
const MIDDLE = 38;
const EDGE = 5;
const STEP = 0.01;
const HINT = "drag to select a range";

type Grip = "new" | "move" | "from" | "to";

interface Curves extends Concurrency {
  readonly key: string;
  readonly alive: Float64Array | null;
}

export function strip(app: App): Part {
  const recording = app.recordings[0];
  const hasMemory = recording.meta.survival;
  const height = TIME_HEIGHT + (hasMemory ? MEMORY_HEIGHT : 0);
  const whole = Math.max(1, recording.meta.duration);
  const canvas = h("canvas", { "aria-hidden": "true" });
  const words = h("span", { class: "strip-words" });
  const legend = h("span", { class: "legend", "aria-hidden": "true" });
  const element = h(
    "div",
    {
      class: "strip",
      style: { height: `${height}px` },
      tabindex: "0",
      role: "group",
      "aria-label":
        "Time of the recording. Drag to select a range. Left and right move the selected range, " +
        "plus and minus change its length, Escape clears it.",
    },
    canvas,
    words,
    legend,
  );
  let samples: Samples | null = null;
  let waits: Waits | null = null;
  let width = 0;
  let objects: Objects | null = null;
  let curves: Curves | null = null;

  const draw = perFrame(() => paint());
  const extent = new Extent(element, draw);
  if (hasMemory)
    recording.objects().then((loaded) => {
      objects = loaded;
      curves = null;
      draw();
    });
  recording.samples().then((loaded) => {
    samples = loaded;
    draw();
    // Without recorded waits, those for locks are what is known of waiting.
    if (
      !loaded.state.some((state) => state !== 0) &&
      recording.meta.counts.contentions > 0
    ) {
      recording.waits().then((rows) => {
        waits = rows;
        curves = null;
        draw();
      });
    }
  });

  const toTime = (x: number) =>
    Math.max(0, Math.min(whole, (x / width) * whole));
  const toX = (time: number) => (time / whole) * width;

  function paint(): void {
    width = extent.width;
    if (!width) return;
    const context = sizeCanvas(canvas, width, height);
    const { theme, state } = app;
    context.clearRect(0, 0, width, height);
    if (samples) {
      const key = JSON.stringify([
        width,
        state.threads,
        state.processes,
        state.span,
      ]);
      if (curves?.key !== key) {
        curves = {
          key,
          ...concurrencyOf(recording, samples, waits, app, width),
          alive:
            objects &&
            aliveOver(recording, objects, { ...app.state }, binsOf(width)),
        };
        explain(curves);
      }
      // Each with its own baseline and scale: many threads wait, few can run.
      area(
        context,
        width,
        curves.running,
        14,
        MIDDLE,
        theme.colour("running"),
        false,
      );
      area(
        context,
        width,
        curves.waiting,
        MIDDLE + 3,
        TIME_HEIGHT,
        theme.colour("io"),
        true,
      );
      if (curves.alive)
        area(
          context,
          width,
          curves.alive,
          TIME_HEIGHT + 3,
          height,
          theme.colour("memory"),
          false,
        );
      if (words.textContent === "") words.textContent = HINT;
    }
    for (const mark of recording.marks) {
      context.fillStyle = theme.colour("text");
      const x = toX(mark.time);
      context.beginPath();
      context.moveTo(x - 4, 0);
      context.lineTo(x + 4, 0);
      context.lineTo(x, 6);
      context.fill();
    }
    shade(context);
  }

  function explain({ running, waiting, alive }: Curves): void {
    fill(
      legend,
      entry("running", `on-CPU, up to ${top(running).toFixed(1)} threads`, ""),
      entry("io", `off-CPU, up to ${top(waiting).toFixed(1)}`, "hatched"),
      !!alive &&
        entry("memory", `memory alive, up to ${amount(top(alive))}`, ""),
      recording.marks.length > 0 && "▼ marks",
    );
  }

  function shade(context: CanvasRenderingContext2D): void {
    const { from, to } = app.state;
    if (from === null && to === null) return;
    const left = toX(from ?? 0);
    const right = Math.max(left + 1, toX(to ?? whole));
    context.fillStyle = app.theme.colour("ground");
    context.globalAlpha = 0.72;
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.globalAlpha = 1;
    context.fillStyle = app.theme.colour("accent");
    context.fillRect(left - 1, 0, 2, height);
    context.fillRect(right - 1, 0, 2, height);
  }

  let grip: {
    kind: Grip;
    at: number;
    from: number;
    to: number;
    moved: boolean;
  } | null = null;
  const gripAt = (x: number): Grip => {
    const { from, to } = app.state;
    if (from === null && to === null) return "new";
    const left = toX(from ?? 0);
    const right = toX(to ?? whole);
    if (Math.abs(x - left) <= EDGE) return "from";
    if (Math.abs(x - right) <= EDGE) return "to";
    return x > left && x < right ? "move" : "new";
  };
  const x = (event: PointerEvent) =>
    event.clientX - canvas.getBoundingClientRect().left;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    grip = {
      kind: gripAt(x(event)),
      at: toTime(x(event)),
      from: app.state.from ?? 0,
      to: app.state.to ?? whole,
      moved: false,
    };
  });
  element.addEventListener("pointermove", (event) => {
    const time = toTime(x(event));
    words.textContent = at(time);
    const cursors: Record<Grip, string> = {
      new: "crosshair",
      move: "grab",
      from: "ew-resize",
      to: "ew-resize",
    };
    element.style.cursor = cursors[grip?.kind ?? gripAt(x(event))];
    if (!grip) return;
    const { kind, at: held, from, to } = grip;
    if (kind === "new") {
      if (Math.abs(toX(time) - toX(held)) > 2)
        choose(Math.min(held, time), Math.max(held, time));
    } else if (kind === "from") choose(Math.min(time, to), Math.max(time, to));
    else if (kind === "to") choose(Math.min(from, time), Math.max(from, time));
    else {
      const shift = Math.max(-from, Math.min(whole - to, time - held));
      choose(from + shift, to + shift);
    }
  });
  const release = () => (grip = null);
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("pointerleave", () => (words.textContent = HINT));
  element.addEventListener("dblclick", () =>
    app.set({ from: null, to: null }, true),
  );
  element.addEventListener("keydown", (event) => {
    const from = app.state.from ?? 0;
    const to = app.state.to ?? whole;
    const step = Math.max(
      1,
      (to - from) * 0.1,
      whole * STEP * (event.shiftKey ? 5 : 0),
    );
    if (event.key === "Escape") app.set({ from: null, to: null }, true);
    else if (event.key === "ArrowLeft") {
      const shift = Math.min(step, from);
      choose(from - shift, to - shift);
    } else if (event.key === "ArrowRight") {
      const shift = Math.min(step, whole - to);
      choose(from + shift, to + shift);
    } else if (event.key === "+") choose(from - step, to + step);
    else if (event.key === "-") choose(from + step, to - step);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function choose(from: number, to: number): void {
    const start = Math.round(Math.max(0, from));
    const end = Math.round(Math.min(whole, to));
    if (end <= start) return;
    const all = start <= 0 && end >= whole;
    // The first movement of a drag is the step that the back button undoes.
    app.set(
      { from: all ? null : start, to: all ? null : end },
      grip?.moved === false,
    );
    if (grip) grip.moved = true;
  }

  function at(time: number): string {
    if (!curves) return moment(time);
    const bin = Math.min(
      curves.running.length - 1,
      Math.floor((time / whole) * curves.running.length),
    );
    const size = whole / curves.running.length;
    return (
      `${moment(time)}: ${curves.running[bin].toFixed(1)} on-CPU, ` +
      `${curves.waiting[bin].toFixed(1)} off-CPU (mean of ${duration(size)})` +
      (curves.alive ? `, ${amount(curves.alive[bin])} alive` : "")
    );
  }

  return { element, update: draw };
}

function entry(colour: string, text: string, kind: string): HTMLElement {
  return h(
    "span",
    { class: "key" },
    h("i", {
      class: `swatch ${kind}`,
      style: { "--swatch": `var(--${colour})` },
    }),
    text,
  );
}

function concurrencyOf(
  recording: Recording,
  samples: Samples,
  waits: Waits | null,
  app: App,
  width: number,
) {
  const bins = binsOf(width);
  const mask = threadMask(recording, app.state);
  const whole = Math.max(1, recording.meta.duration);
  const spans = spanMask(recording, app.state);
  return concurrency(samples, waits, mask, bins, whole, spans);
}

function binsOf(width: number): number {
  return Math.max(1, Math.floor(width / 2));
}

function top(values: Float64Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, value);
  return most;
}

function area(
  context: CanvasRenderingContext2D,
  width: number,
  values: Float64Array,
  ceiling: number,
  floor: number,
  colour: string,
  hatched: boolean,
): void {
  const step = width / values.length;
  const most = Math.max(1e-9, top(values));
  const y = (value: number) => floor - (value / most) * (floor - ceiling);
  context.beginPath();
  context.moveTo(0, floor);
  values.forEach((value, i) => {
    context.lineTo(i * step, y(value));
    context.lineTo((i + 1) * step, y(value));
  });
  context.lineTo(width, floor);
  context.closePath();
  context.save();
  context.fillStyle = colour;
  context.globalAlpha = hatched ? 0.28 : 0.75;
  context.fill();
  if (hatched) {
    // Not by colour alone: waiting is hatched everywhere on the page.
    context.clip();
    context.globalAlpha = 0.6;
    context.strokeStyle = colour;
    context.beginPath();
    for (let x = -TIME_HEIGHT; x < width; x += 6) {
      context.moveTo(x, TIME_HEIGHT);
      context.lineTo(x + TIME_HEIGHT, 0);
    }
    context.stroke();
  }
  context.restore();
}
