/** The lines of a file with their times; where there is no source, the lines that have times. */
import { fill, h } from "../../elements/dom";
import { count, duration, percentOf, shorten } from "../../elements/format";
import type { Profile } from "../../profile/profile";
import type { App } from "../../shell/app";
import type { File, Line } from "./lines";
import { Tokenizer } from "./tokens";

/** Lines of one block: the browser lays out only the blocks that are near the screen. */
const BLOCK = 100;
const MAX_LENGTH = 1000;
/** Longer files are shown without colours: there would be too many elements. */
const COLOURED = 8000;

/** The elements of one line that show its time. */
interface Drawn {
  readonly element: HTMLElement;
  readonly total: HTMLElement;
  readonly self: HTMLElement;
}

/** The times change with every choice, the source does not: it is drawn once. */
export class Listing {
  readonly element = h("div", { class: "code-table" });
  private readonly drawn = new Map<number, Drawn>();
  private profile: Profile | null = null;
  private lines: ReadonlyMap<number, Line> = new Map();
  private namesKey = "";

  constructor(
    private readonly app: App,
    readonly file: string,
    private readonly text: string | null,
  ) {
    if (text !== null) this.draw(this.blocks(text));
  }

  show(profile: Profile, file: File, asked: number): void {
    const before = this.lines;
    this.profile = profile;
    this.lines = file.lines;
    const known = [...file.lines.keys()];
    if (this.text === null) this.bare(known);
    let hottest = 1;
    for (const line of file.lines.values())
      hottest = Math.max(hottest, line.self);
    for (const number of new Set([...before.keys(), ...known]))
      this.showDetail(number, hottest);
    this.element.querySelector(".asked")?.classList.remove("asked");
    this.drawn.get(asked)?.element.classList.add("asked");
  }

  /** What to look at first: the line asked for, else the hottest. */
  mark(): Element | null {
    return (
      this.element.querySelector(".code-line.asked") ??
      this.element.querySelector(".code-line.hottest")
    );
  }

  private draw(lines: HTMLElement[]): void {
    fill(
      this.element,
      h(
        "div",
        { class: "code-head" },
        ["total", "self", "line"].map((name) =>
          h("span", { class: "number" }, name),
        ),
        h("span", null, this.text === null ? "function" : ""),
      ),
      lines,
    );
  }

  private blocks(text: string): HTMLElement[] {
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    const python = lines.length <= COLOURED && /\.pyw?$/.test(this.file);
    const tokenizer = python ? new Tokenizer() : null;
    const blocks: HTMLElement[] = [];
    for (let start = 0; start < lines.length; start += BLOCK) {
      const block = lines.slice(start, start + BLOCK);
      blocks.push(
        h(
          "div",
          {
            class: "block",
            style: { "contain-intrinsic-height": `${block.length * 19}px` },
          },
          block.map((code, i) =>
            this.line(start + i + 1, code, coded(code, tokenizer)),
          ),
        ),
      );
    }
    return blocks;
  }

  /** Without the source: the lines that have times, with the functions they are of. */
  private bare(known: number[]): void {
    const numbers = known.sort((a, b) => a - b);
    const namesKey = JSON.stringify(numbers.map((n) => [n, this.names(n)]));
    if (namesKey === this.namesKey) return;
    this.namesKey = namesKey;
    this.drawn.clear();
    this.draw(
      numbers.map((number) => {
        const names = h("span", { class: "names" }, this.names(number));
        return this.line(number, null, names);
      }),
    );
  }

  private line(
    number: number,
    code: string | null,
    detail: HTMLElement,
  ): HTMLElement {
    const total = h("span", { class: "number total" });
    const self = h("span", { class: "number self" });
    const element = h(
      "div",
      {
        class: "code-line",
        "data-line": number,
        onpointerenter: () => this.explain(number, code),
        onpointerleave: () => this.app.explain(null),
      },
      total,
      self,
      h("span", { class: "number at" }, number),
      detail,
    );
    this.drawn.set(number, { element, total, self });
    return element;
  }

  private showDetail(number: number, hottest: number): void {
    const drawn = this.drawn.get(number);
    if (!drawn) return;
    const line = this.lines.get(number);
    const { element } = drawn;
    const self = line?.self ?? 0;
    const total = line?.total ?? 0;
    if (line) {
      element.dataset.self = String(self);
      element.dataset.total = String(total);
    } else {
      delete element.dataset.self;
      delete element.dataset.total;
    }
    element.classList.toggle("hottest", self > 0 && self === hottest);
    drawn.total.textContent = total ? duration(total) : "";
    drawn.total.title = total ? `${total} ns` : "";
    drawn.self.title = self ? `${self} ns` : "";
    const width = `${Math.max((100 * self) / hottest, 1)}%`;
    fill(
      drawn.self,
      self ? h("i", { style: { width } }) : null,
      h("span", null, self ? duration(self) : ""),
    );
  }

  private names(number: number): string {
    return (this.lines.get(number)?.functions ?? [])
      .map((fn) => shorten(this.profile!.functions[fn]!.name, 80))
      .join(", ");
  }

  private explain(number: number, code: string | null): void {
    const line = this.lines.get(number);
    const { profile } = this;
    if (!line || !profile) return this.app.explain(null);
    const { self, total, waiting, functions } = line;
    this.app.explain(
      h(
        "div",
        null,
        h(
          "p",
          { class: "detail" },
          h("span", { class: "name" }, this.names(number)),
          h("span", null, `line ${number}`),
          code === null
            ? null
            : h("span", { class: "code" }, shorten(code.trim(), 200)),
        ),
        h(
          "p",
          { class: "faint" },
          `self ${duration(self)} (${percentOf(self, profile.total)}), ` +
            `total ${duration(total)} (${percentOf(total, profile.total)})` +
            (waiting && profile.selection.time === "wall"
              ? `, ${duration(waiting)} of it off-CPU`
              : "") +
            (functions.length > 1
              ? `, in ${count(functions.length, "function")}`
              : ""),
        ),
      ),
    );
  }
}

function coded(code: string, tokenizer: Tokenizer | null): HTMLElement {
  // The tokenizer must get every line, or it would not know which are in a string.
  const tokens = tokenizer?.line(code);
  if (code.length > MAX_LENGTH)
    return h("span", { class: "text" }, shorten(code, MAX_LENGTH));
  return h(
    "span",
    { class: "text" },
    tokens
      ? tokens.map(({ kind, text }) =>
          kind
            ? h("span", { class: `python-${kind}` }, visible(text))
            : visible(text),
        )
      : visible(code),
  );
}

/** Characters that would turn the direction of what follows are written out; tabs stay. */
function visible(code: string): string {
  return code.replace(
    /[\u0000-\u0008\u000b-\u001f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
