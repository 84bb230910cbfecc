/**
 * How large an element is and how far it is scrolled, kept up to date. Asking the element itself,
 * after something on the page was changed, makes the browser lay out everything at once, and then
 * once more when the rest is changed.
 */

export class Extent {
  width = 0;
  height = 0;
  top = 0;
  private readonly watcher: ResizeObserver;

  /** `changed` is called when the size is another, and when it was scrolled. */
  constructor(
    private readonly element: HTMLElement,
    changed: () => void,
  ) {
    this.watcher = new ResizeObserver(() => {
      this.width = element.clientWidth;
      this.height = element.clientHeight;
      this.top = element.scrollTop;
      changed();
    });
    this.watcher.observe(element);
    element.addEventListener("scroll", () => {
      if (this.top === element.scrollTop) return;
      this.top = element.scrollTop;
      changed();
    });
  }

  scrollTo(top: number): void {
    if (top === this.top) return;
    this.element.scrollTop = top;
    this.top = this.element.scrollTop;
  }

  destroy(): void {
    this.watcher.disconnect();
  }
}
