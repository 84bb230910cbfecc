/** A long list of equally high rows of which only those in sight are elements. */

import { fill, h, perFrame } from "./dom";
import { Extent } from "./extent";

const ROW_HEIGHT = 23;
const MARGIN = 8;

export class VirtualList {
  readonly element: HTMLElement;
  private readonly inner = h("div", { class: "rows-inner", role: "rowgroup" });
  private count = 0;
  private make: (index: number) => HTMLElement = () => h("div");
  private readonly draw = perFrame(() => this.paint());
  private readonly extent: Extent;
  private headHeight = 0;
  /** What must be in sight as soon as it is known how much is; -1: nothing. */
  private target = -1;

  constructor(role: string, label: string, head: HTMLElement) {
    this.element = h(
      "div",
      { class: "rows", role, "aria-label": label, tabindex: "0" },
      head,
      this.inner,
    );
    this.extent = new Extent(this.element, () => {
      this.headHeight = head.offsetHeight;
      if (this.target >= 0 && this.extent.height) this.scrollTo(this.target);
      this.draw();
    });
  }

  /** `sought` is a row that must be in sight; -1: none. */
  show(count: number, make: (index: number) => HTMLElement, target = -1): void {
    this.count = count;
    this.make = make;
    this.element.setAttribute("aria-rowcount", String(count));
    this.inner.style.height = `${count * ROW_HEIGHT}px`;
    this.target = -1;
    if (target >= 0) this.scrollTo(target);
    this.paint();
  }

  /** Scrolls as little as needed for a row to be visible. */
  reveal(index: number): void {
    if (this.scrollTo(index)) this.paint();
  }

  private scrollTo(index: number): boolean {
    this.target = this.extent.height ? -1 : index;
    if (this.target >= 0) return false;
    const before = this.extent.top;
    const top = index * ROW_HEIGHT;
    const room = this.extent.height - this.headHeight;
    if (top < before) this.extent.scrollTo(top);
    else if (top + ROW_HEIGHT > before + room)
      this.extent.scrollTo(top + ROW_HEIGHT - room);
    return this.extent.top !== before;
  }

  destroy(): void {
    this.draw.cancel();
    this.extent.destroy();
  }

  private paint(): void {
    const { top } = this.extent;
    const room = this.extent.height || 600;
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
