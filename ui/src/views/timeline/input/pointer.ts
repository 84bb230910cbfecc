/** Pointer, wheel and keys on the timeline, turned into what they mean. */
import { AXIS, GUTTER } from "../drawing/layout";

export interface Hands {
  zoom(factor: number, x: number): void;
  /** By so many pixels. */
  pan(pixels: number): void;
  brush(a: number, b: number, done: boolean): void;
  click(x: number, y: number): void;
  /** On the name of a lane. */
  name(y: number): void;
  doubleClick(x: number, y: number): void;
  point(x: number, y: number): void;
  leave(): void;
  key(event: KeyboardEvent): boolean;
}

/** Less than this is a click, not a drag. */
const STEADY = 4;

export function listen(canvas: HTMLCanvasElement, hands: Hands): void {
  let held: { x: number; y: number; last: number; pans: boolean } | null = null;
  let dragged = false;
  const at = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  canvas.addEventListener(
    "wheel",
    (event) => {
      const { x } = at(event);
      // Over the names the wheel scrolls, as everywhere.
      if (x < GUTTER) return;
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
        hands.pan(sideways * unit);
      } else {
        hands.zoom(Math.exp(event.deltaY * unit * 0.002), x);
      }
    },
    { passive: false },
  );

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    const { x, y } = at(event);
    if (x < GUTTER) return hands.name(y);
    const pans = event.shiftKey || event.button === 1 || y < AXIS;
    held = { x, y, last: x, pans };
    dragged = false;
    canvas.setPointerCapture(event.pointerId);
    if (event.button === 1) event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    const { x, y } = at(event);
    if (!held) return hands.point(x, y);
    if (Math.abs(x - held.x) >= STEADY) dragged = true;
    if (!dragged) return;
    if (held.pans) hands.pan(held.last - x);
    else hands.brush(held.x, x, false);
    held.last = x;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!held) return;
    const { x, y } = at(event);
    if (dragged && !held.pans) hands.brush(held.x, x, true);
    else if (!dragged) hands.click(x, y);
    held = null;
  });
  canvas.addEventListener("pointercancel", () => (held = null));
  canvas.addEventListener("pointerleave", () => hands.leave());
  canvas.addEventListener("dblclick", (event) => {
    const { x, y } = at(event);
    if (x >= GUTTER) hands.doubleClick(x, y);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (hands.key(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  });
}
