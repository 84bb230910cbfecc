/**
 * A tree of frames on a canvas: wide is long, the root on top (or at the bottom). The base layer is
 * drawn again only when something moves; what is under the pointer is drawn on a layer above it.
 */

import { fill, h, perFrame, sizeCanvas } from "../../elements/dom";
import { Extent } from "../../elements/extent";
import type { Theme } from "../../elements/theme";
import type { Tree } from "../../profile/profile";
import { layout, Order, type Box, type Row, type Interval } from "./layout";
import { drawRow, ROW_HEIGHT, type Look } from "./row";
import { TextFitter } from "./textfit";

export type { Look } from "./row";

/** Milliseconds of a zoom: to be followed by the eye, not waited for. */
const MOVE = 30;
const MIN_SPAN_WIDTH = 10;

export interface Events {
  /** null: nothing is under the pointer any more. */
  point(node: number | null): void;
  select(node: number): void;
  zoom(node: number): void;
  menu(node: number, x: number, y: number): void;
  /** A few words beside the pointer. */
  tip?(node: number): HTMLElement;
}

export class Icicle {
  readonly element: HTMLElement;
  private readonly base = h("canvas", { class: "layer" });
  private readonly over = h("canvas", { class: "layer" });
  private readonly room = h("div", { class: "room" });
  private readonly words = h("div", { class: "tip", "aria-hidden": "true" });
  private order: Order | null = null;
  private look: Look | null = null;
  private theme: Theme | null = null;
  private fitter: TextFitter | null = null;
  private interval: Interval = { from: 0, to: 1 };
  private rows: Row[] = [];
  private pointed: number | null = null;
  private selected: number | null = null;
  /** How far the rows reach below the visible part. */
  private below = 0;
  private width = 0;
  private height = 0;
  /** To be scrolled to its root with the next drawing. */
  private rootward = false;
  private moving = 0;
  private readonly extent: Extent;
  private readonly draw = perFrame(() => this.paint());

  constructor(
    private readonly events: Events,
    private readonly up: boolean,
    label: string,
  ) {
    this.element = h(
      "div",
      {
        class: "icicle",
        tabindex: "0",
        role: "application",
        "aria-label": label,
      },
      h("div", { class: "pane" }, this.base, this.over),
      this.room,
      this.words,
    );
    this.words.hidden = true;
    this.extent = new Extent(this.element, () => this.draw());
    this.listen();
  }

  show(tree: Tree, look: Look, theme: Theme, zoom: number): void {
    const fresh = this.order?.tree !== tree;
    // In another shape a number means another frame.
    if (this.order && this.order.tree.parent !== tree.parent)
      this.selected = null;
    if (fresh) this.order = new Order(tree);
    this.look = look;
    if (this.theme !== theme) this.fitter = null;
    this.theme = theme;
    this.pointed = null;
    const wanted = this.order!.interval(
      zoom < tree.size && tree.totalSamples[zoom] ? zoom : -1,
    );
    if (fresh) {
      this.interval = wanted;
      // The root is what one wants to see first.
      this.rootward = true;
      cancelAnimationFrame(this.moving);
      this.paint();
    } else this.move(wanted);
  }

  select(node: number | null): void {
    this.selected = node;
    this.draw();
  }

  destroy(): void {
    cancelAnimationFrame(this.moving);
    this.draw.cancel();
    this.extent.destroy();
  }

  private move(to: Interval): void {
    cancelAnimationFrame(this.moving);
    const from = this.interval;
    if (from.from === to.from && from.to === to.to) return this.draw();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const start = performance.now();
    const step = (now: number) => {
      const t = calm ? 1 : Math.min(1, (now - start) / MOVE);
      const eased = t * (2 - t);
      this.interval = {
        from: from.from + (to.from - from.from) * eased,
        to: from.to + (to.to - from.to) * eased,
      };
      this.paint();
      if (t < 1) this.moving = requestAnimationFrame(step);
    };
    this.moving = requestAnimationFrame(step);
  }

  private paint(): void {
    const { order, look, theme } = this;
    if (!order || !look || !theme) return;
    this.width = this.extent.width;
    this.height = this.extent.height;
    if (!this.width || !this.height) return;
    this.rows = layout(order, this.interval, this.width);
    const room = Math.max(0, this.rows.length * ROW_HEIGHT + 4 - this.height);
    if (room !== this.below) {
      this.below = room;
      this.room.style.height = `${room}px`;
    }
    if (this.rootward) this.extent.scrollTo(this.up ? room : 0);
    this.rootward = false;
    const context = sizeCanvas(this.base, this.width, this.height);
    this.fitter ??= new TextFitter(context, `12px ${theme.font}`);
    context.fillStyle = theme.colour("ground");
    context.fillRect(0, 0, this.width, this.height);
    context.font = this.fitter.font;
    context.textBaseline = "middle";
    const [first, last] = this.visible();
    for (let depth = first; depth < last; depth++)
      drawRow(context, this.rows[depth], this.y(depth), {
        look,
        theme,
        fitter: this.fitter,
      });
    this.paintOver();
  }

  private paintOver(): void {
    const context = sizeCanvas(this.over, this.width, this.height);
    context.clearRect(0, 0, this.width, this.height);
    const outline = (node: number | null, width: number) => {
      const found = node === null ? null : this.find(node);
      if (!found) return;
      const [box, depth] = found;
      context.strokeStyle = this.theme!.colour("text");
      context.lineWidth = width;
      context.strokeRect(
        box.x + width / 2,
        this.y(depth) + width / 2,
        Math.max(1, box.width - width - 1),
        ROW_HEIGHT - 1 - width,
      );
    };
    outline(this.selected, 2);
    outline(this.pointed, 1);
  }

  private visible(): [number, number] {
    const rows = this.rows.length;
    const { top } = this.extent;
    if (!this.up) {
      return [
        Math.min(rows, Math.floor(top / ROW_HEIGHT)),
        Math.min(rows, Math.ceil((top + this.height) / ROW_HEIGHT)),
      ];
    }
    const whole = Math.max(this.height, rows * ROW_HEIGHT + 4);
    const below = whole - top - this.height;
    return [
      Math.min(rows, Math.max(0, Math.floor(below / ROW_HEIGHT))),
      Math.min(rows, Math.ceil((below + this.height) / ROW_HEIGHT)),
    ];
  }

  private y(depth: number): number {
    const { top } = this.extent;
    if (!this.up) return depth * ROW_HEIGHT - top;
    const whole = Math.max(this.height, this.rows.length * ROW_HEIGHT + 4);
    return whole - (depth + 1) * ROW_HEIGHT - top;
  }

  private find(node: number): [Box, number] | null {
    const depth = this.order!.tree.depth[node];
    const box = this.rows[depth]?.boxes.find((one) => one.node === node);
    return box ? [box, depth] : null;
  }

  private at(event: MouseEvent): number | null {
    const frame = this.base.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const y = event.clientY - frame.top;
    const depth = this.up
      ? Math.floor((this.y(-1) - y) / ROW_HEIGHT)
      : Math.floor((y + this.extent.top) / ROW_HEIGHT);
    const hit = this.rows[depth]?.boxes.find(
      (box) => x >= box.x && x < box.x + box.width,
    );
    return hit ? hit.node : null;
  }

  private listen(): void {
    const { element } = this;
    element.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) return;
      this.point(this.at(event));
      this.placeTip(event.clientX, event.clientY);
    });
    element.addEventListener("pointerleave", () => this.point(null));
    element.addEventListener("click", (event) => {
      const node = this.at(event);
      if (node !== null) this.choose(node);
    });
    element.addEventListener("dblclick", (event) =>
      this.events.zoom(this.at(event) ?? -1),
    );
    element.addEventListener("contextmenu", (event) => {
      const node = this.at(event);
      if (node === null) return;
      event.preventDefault();
      this.choose(node);
      this.events.menu(node, event.clientX, event.clientY);
    });
    element.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey || event.metaKey) this.wheelZoom(event);
        else if (
          event.shiftKey ||
          Math.abs(event.deltaX) > Math.abs(event.deltaY)
        ) {
          this.pan((event.deltaX || event.deltaY) / this.width);
        } else return;
        event.preventDefault();
      },
      { passive: false },
    );
    this.dragging();
    element.addEventListener("keydown", (event) => this.key(event));
  }

  /** Dragging moves the tree sideways, once it is zoomed. */
  private dragging(): void {
    let held: number | null = null;
    this.element.addEventListener("pointerdown", (event) => {
      if (event.button === 0) held = event.clientX;
    });
    this.element.addEventListener("pointermove", (event) => {
      if (held === null || !(event.buttons & 1)) return;
      if (Math.abs(event.clientX - held) < 3) return;
      this.pan((held - event.clientX) / Math.max(1, this.width));
      held = event.clientX;
    });
    this.element.addEventListener("pointerup", () => (held = null));
  }

  private pan(share: number): void {
    const size = this.interval.to - this.interval.from;
    const whole = this.order!.width;
    const from = Math.max(
      0,
      Math.min(whole - size, this.interval.from + share * size),
    );
    this.interval = { from, to: from + size };
    this.draw();
  }

  private wheelZoom(event: WheelEvent): void {
    const whole = this.order!.width;
    const size = this.interval.to - this.interval.from;
    const factor = Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01);
    const wanted = Math.min(
      whole,
      Math.max(Math.min(MIN_SPAN_WIDTH, whole), size * factor),
    );
    const x =
      (event.clientX - this.base.getBoundingClientRect().left) / this.width;
    const from = Math.max(
      0,
      Math.min(whole - wanted, this.interval.from + x * (size - wanted)),
    );
    this.interval = { from, to: from + wanted };
    this.draw();
  }

  private point(node: number | null): void {
    if (node === this.pointed) return;
    this.pointed = node;
    this.paintOver();
    this.events.point(node);
    this.words.hidden = node === null || !this.events.tip;
    if (node !== null && this.events.tip)
      fill(this.words, this.events.tip(node));
  }

  /** Beside the pointer, and never out of the window. */
  private placeTip(x: number, y: number): void {
    if (this.words.hidden) return;
    // On the side with more room, so that its size need not be asked for.
    const { style } = this.words;
    const [right, down] = [x < innerWidth / 2, y < innerHeight / 2];
    style.left = right ? `${x + 14}px` : "auto";
    style.right = right ? "auto" : `${innerWidth - x + 14}px`;
    style.top = down ? `${y + 18}px` : "auto";
    style.bottom = down ? "auto" : `${innerHeight - y + 10}px`;
  }

  private choose(node: number): void {
    this.selected = node;
    this.paintOver();
    this.events.select(node);
  }

  private key(event: KeyboardEvent): void {
    const order = this.order;
    if (!order) return;
    const { tree } = order;
    const at = this.selected;
    const family = at === null ? [] : order.children(tree.parent[at]);
    const [inward, outward] = this.up
      ? ["ArrowUp", "ArrowDown"]
      : ["ArrowDown", "ArrowUp"];
    let next: number | undefined;
    if (at === null) {
      if (!event.key.startsWith("Arrow")) return;
      next = order.children(-1)[0];
    } else if (event.key === inward) next = order.children(at)[0];
    else if (event.key === outward)
      next = tree.parent[at] >= 0 ? tree.parent[at] : undefined;
    else if (event.key === "ArrowLeft") next = family[family.indexOf(at) - 1];
    else if (event.key === "ArrowRight") next = family[family.indexOf(at) + 1];
    else if (event.key === "Enter") this.events.zoom(at);
    else if (
      event.key === "ContextMenu" ||
      (event.shiftKey && event.key === "F10")
    ) {
      const box = this.find(at);
      const frame = this.base.getBoundingClientRect();
      this.events.menu(
        at,
        frame.left + (box ? box[0].x + 8 : 20),
        frame.top + (box ? this.y(box[1]) + ROW_HEIGHT : 20),
      );
    } else return;
    event.preventDefault();
    if (next === undefined) return;
    this.choose(next);
    this.reveal(tree.depth[next]);
  }

  private reveal(depth: number): void {
    const y = this.y(depth);
    if (y < 0) this.element.scrollTop += y;
    else if (y + ROW_HEIGHT > this.height)
      this.element.scrollTop += y + ROW_HEIGHT - this.height;
  }
}
