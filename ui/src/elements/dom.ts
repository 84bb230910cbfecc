/**
 * Creates elements. Text always becomes a text node, whatever it contains: names are not trusted.
 * Styles go through the style object, not the attribute, which the page's policy forbids.
 */

export type Child =
  Node | string | number | null | undefined | false | readonly Child[];
type Handler = (event: never) => void;
export type Attributes = Record<
  string,
  | string
  | number
  | boolean
  | null
  | undefined
  | Handler
  | Record<string, string>
>;

/** `h("button", { class: "quiet", onclick: go, style: { width: "3px" } }, "text", child)` */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes?: Attributes | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, attributes);
  append(element, children);
  return element;
}

/** The same for SVG. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes?: Attributes | null,
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(element, attributes);
  append(element, children);
  return element;
}

/** Puts these children in the place of all there were. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** An attribute, if it is not so already: the browser would take it for a change. */
export function set(
  element: Element,
  name: string,
  value: string | boolean | null,
): void {
  const text = value === null ? null : String(value);
  if (element.getAttribute(name) === text) return;
  if (text === null) element.removeAttribute(name);
  else element.setAttribute(name, text);
}

function apply(
  element: HTMLElement | SVGElement,
  attributes?: Attributes | null,
): void {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.replace(/^on/, ""), value as EventListener);
    } else if (typeof value === "object") {
      for (const [property, text] of Object.entries(value)) {
        element.style.setProperty(property, text);
      }
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child as readonly Child[]);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/** A canvas of so many CSS pixels with as many real ones as the screen has; draws in CSS pixels. */
export function sizeCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const real = [Math.round(width * ratio), Math.round(height * ratio)] as const;
  if (canvas.width !== real[0] || canvas.height !== real[1]) {
    canvas.width = real[0];
    canvas.height = real[1];
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Calls `draw` once in the next frame, however often it was asked for. */
export function perFrame(draw: () => void): { (): void; cancel(): void } {
  let asked = 0;
  const ask = () => {
    if (!asked) {
      asked = requestAnimationFrame(() => {
        asked = 0;
        draw();
      });
    }
  };
  return Object.assign(ask, { cancel: () => cancelAnimationFrame(asked) });
}
