/** Pointer, wheel and keys on the timeline, turned into what they mean. */
import { AXIS, GUTTER } from "../drawing/layout";

export interface PointerActions {
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
const DRAG_THRESHOLD = 4;

export function listenToPointer(
  canvas: HTMLCanvasElement,
  actions: PointerActions,
): void {
  let press: { x: number; y: number; last: number; pans: boolean } | null =
    null;
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
        actions.pan(sideways * unit);
      } else {
        actions.zoom(Math.exp(event.deltaY * unit * 0.002), x);
      }
    },
    { passive: false },
  );

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    const { x, y } = at(event);
    if (x < GUTTER) return actions.name(y);
    const pans = event.shiftKey || event.button === 1 || y < AXIS;
    press = { x, y, last: x, pans };
    dragged = false;
    canvas.setPointerCapture(event.pointerId);
    if (event.button === 1) event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    const { x, y } = at(event);
    if (!press) return actions.point(x, y);
    if (Math.abs(x - press.x) >= DRAG_THRESHOLD) dragged = true;
    if (!dragged) return;
    if (press.pans) actions.pan(press.last - x);
    else actions.brush(press.x, x, false);
    press.last = x;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!press) return;
    const { x, y } = at(event);
    if (dragged && !press.pans) actions.brush(press.x, x, true);
    else if (!dragged) actions.click(x, y);
    press = null;
  });
  canvas.addEventListener("pointercancel", () => (press = null));
  canvas.addEventListener("pointerleave", () => actions.leave());
  canvas.addEventListener("dblclick", (event) => {
    const { x, y } = at(event);
    if (x >= GUTTER) actions.doubleClick(x, y);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (actions.key(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  });
}
