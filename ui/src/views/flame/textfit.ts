/** Text cut to a width, without asking the browser to measure every label. */

import { shorten } from "../../elements/format";

const MAX_LENGTH = 200;

export class TextFitter {
  private readonly widths = new Map<string, number>();
  private readonly cut = new Map<string, string>();

  constructor(
    private readonly context: CanvasRenderingContext2D,
    readonly font: string,
  ) {}

  /** As much of the text as fits, "" if too little would. */
  fit(text: string, room: number): string {
    const clean = this.clean(text);
    let width = 0;
    for (let i = 0; i < clean.length; i++) {
      width += this.width(clean[i]);
      if (width <= room) continue;
      // Back to where the dots fit too; `used` is of the letters before `end`.
      let end = i + 1;
      let used = width;
      const dots = this.width("…");
      while (end > 0 && used + dots > room) used -= this.width(clean[--end]);
      return end >= 2 ? `${clean.slice(0, end)}…` : "";
    }
    return clean;
  }

  private clean(text: string): string {
    let found = this.cut.get(text);
    if (found === undefined)
      this.cut.set(text, (found = shorten(text, MAX_LENGTH)));
    return found;
  }

  private width(letter: string): number {
    let found = this.widths.get(letter);
    if (found === undefined) {
      this.context.font = this.font;
      found = this.context.measureText(letter).width;
      this.widths.set(letter, found);
    }
    return found;
  }
}
