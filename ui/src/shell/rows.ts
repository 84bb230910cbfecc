/** A long list of equally high rows of which only those in sight are elements. */

import { fill, h, perFrame } from "./dom";

export const ROW_HEIGHT = 23;
const MARGIN = 8;

export class Rows {
  readonly element: HTMLElement;
  private readonly inner = h("div", { class: "rows-inner", role: "rowgroup" });
  private count = 0;
  private make: (index: number) => HTMLElement = () => h("div");
  private readonly draw = perFrame(() => this.paint());

  constructor(role: string, label: string, head: HTMLElement) {
    this.element = h(
      "div",
      { class: "rows", role, "aria-label": label, tabindex: "0" },
      head,
      this.inner,
    );
    this.element.addEventListener("scroll", () => this.draw());
  }

  /** `sought` is a row that must be in sight; -1: none. */
  show(count: number, make: (index: number) => HTMLElement, sought = -1): void {
    this.count = count;
    this.make = make;
    this.element.setAttribute("aria-rowcount", String(count));
    this.inner.style.height = `${count * ROW_HEIGHT}px`;
    if (sought >= 0) this.scrollTo(sought);
    this.paint();
  }

  /** Scrolls as little as needed for a row to be seen. */
  reveal(index: number): void {
    if (this.scrollTo(index)) this.paint();
  }

  private scrollTo(index: number): boolean {
    const before = this.element.scrollTop;
    const head = (this.element.firstElementChild as HTMLElement).offsetHeight;
    const top = index * ROW_HEIGHT;
    const room = this.element.clientHeight - head;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + ROW_HEIGHT > this.element.scrollTop + room) {
      this.element.scrollTop = top + ROW_HEIGHT - room;
    }
    return this.element.scrollTop !== before;
  }

  destroy(): void {
    this.draw.cancel();
  }

  private paint(): void {
    const top = this.element.scrollTop;
    const room = this.element.clientHeight || 600;
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - MARGIN);
    const last = Math.min(
      this.count,
      Math.ceil((top + room) / ROW_HEIGHT) + MARGIN,
    );
    const rows: HTMLElement[] = [];
    for (let i = first; i < last; i++) {
      const row = this.make(i);
      row.style.transform = `translateY(${i * ROW_HEIGHT}px)`;
      row.setAttribute("aria-rowindex", String(i + 1));
      rows.push(row);
    }
    fill(this.inner, rows);
  }
}
