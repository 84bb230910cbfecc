/** The call flow as a table: the tree of calling contexts, or one row per function. */

import type { Fn } from "../../data/recording";
import { h } from "../../elements/dom";
import {
  displayName,
  duration,
  percentOf,
  printable,
  sourceLocation,
  thousands,
} from "../../elements/format";
import { VirtualList } from "../../elements/virtuallist";
import type { FlowNumbers, FlowRows, FlowTree } from "../../profile/flow";
import type { App } from "../../shell/app";
import { byName, ColumnSort, nextRow, type Column } from "../../shell/sorting";

type By = Exclude<keyof FlowNumbers, "preexisting"> | "function";
const COLUMNS: readonly Column<By>[] = [
  { id: "total", label: "total", title: "With everything that it called" },
  { id: "base", label: "base", title: "The function itself" },
  { id: "calls", label: "calls", title: "Entries of the function" },
  { id: "callees", label: "callees", title: "Calls that it made" },
  {
    id: "recursion",
    label: "recur",
    title: "Calls made while the function was running already",
  },
  { id: "exceptions", label: "exc", title: "Exits by an exception" },
  { id: "function", label: "function", title: "Its name", text: true },
];
const MAX_INDENT = 40;
const INDENT = 12;
const MAX_OPENED = 50;

export interface FlowShown {
  functions: readonly Fn[];
  metric: string;
  tree: FlowTree;
  /** null: the tree is shown. */
  rows: FlowRows | null;
  flags: Uint8Array | null;
}

export class FlowTable {
  readonly element: HTMLElement;
  private readonly list: VirtualList;
  private readonly sorting: ColumnSort<By>;
  private data: FlowShown | null = null;
  /** Nodes or rows, from top to bottom. */
  private visible: number[] = [];
  private open = new Set<number>();
  private selected = -1;
  private searched: Uint8Array | null = null;

  constructor(
    app: App,
    private readonly explain: (fn: number, keep: boolean) => void,
  ) {
    this.sorting = new ColumnSort(app, "flow", COLUMNS);
    const head = h("div", { class: "head", role: "row" }, this.sorting.heads);
    this.list = new VirtualList(
      "treegrid",
      "Calls. In the tree, right opens and left closes a row.",
      head,
    );
    this.element = this.list.element;
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  show(data: FlowShown): void {
    const fresh =
      this.data?.tree !== data.tree || !this.data.rows !== !data.rows;
    this.data = data;
    if (fresh) {
      this.open = new Set(data.rows ? [] : this.heaviest());
      this.selected = -1;
    }
    if (data.flags && data.flags !== this.searched && !data.rows) this.reveal();
    this.searched = data.flags;
    this.sorting.mark();
    this.draw();
  }

  destroy(): void {
    this.list.destroy();
  }

  private draw(): void {
    const { rows, tree, flags } = this.data!;
    this.visible = [];
    if (rows) {
      const all = [...rows.fn.keys()].filter(
        (i) => !flags || flags[rows.fn[i]!],
      );
      this.visible = this.sorted(all, rows.fn, rows.numbers);
    } else {
      const below = (nodes: Iterable<number>) =>
        this.sorted([...nodes], tree.fn, tree.numbers).reverse();
      const work = below(tree.roots);
      while (work.length) {
        const node = work.pop()!;
        this.visible.push(node);
        if (this.open.has(node)) work.push(...below(tree.children[node]!));
      }
    }
    this.list.show(this.visible.length, (i) => this.row(i));
  }

  private sorted(
    rows: number[],
    fn: ArrayLike<number>,
    numbers: FlowNumbers,
  ): number[] {
    const [by, down] = this.sorting.current();
    const sign = down ? -1 : 1;
    const { functions } = this.data!;
    return rows.sort((a, b) =>
      by === "function"
        ? sign * byName(functions[fn[a]!]!.name, functions[fn[b]!]!.name)
        : sign * (numbers[by][a]! - numbers[by][b]!) || a - b,
    );
  }

  private row(index: number): HTMLElement {
    const { rows, tree, functions, flags, metric } = this.data!;
    const at = this.visible[index]!;
    const numbers = rows ? rows.numbers : tree.numbers;
    const number = rows ? rows.fn[at]! : tree.fn[at]!;
    const fn = functions[number]!;
    const depth = rows ? 0 : tree.depth[at]!;
    const children = !rows && tree.children[at]!.length > 0;
    const opened = this.open.has(at);
    const classes = ["row"];
    if (at === this.selected) classes.push("selected");
    if (flags?.[number] && !rows) classes.push("found");
    const amount = (key: "total" | "base") =>
      h(
        "span",
        {
          class: "share",
          role: "cell",
          title: `${numbers[key][at]} ${isCount(metric) ? metric : "ns"}, ${percentOf(numbers[key][at]!, tree.total)}`,
        },
        h("i", {
          style: {
            width: `${tree.total ? Math.min((100 * numbers[key][at]!) / tree.total, 100).toFixed(2) : 0}%`,
          },
        }),
        shown(numbers[key][at]!, metric),
      );
    const many = (key: "calls" | "callees" | "recursion" | "exceptions") =>
      h(
        "span",
        { class: "number", role: "cell" },
        numbers[key][at] || key === "calls" ? thousands(numbers[key][at]!) : "",
      );
    return h(
      "div",
      {
        class: classes.join(" "),
        role: "row",
        "aria-level": depth + 1,
        "aria-expanded": children ? String(opened) : null,
        "aria-selected": String(at === this.selected),
        onclick: () => this.select(at),
        ondblclick: () => this.toggle(at),
        onpointerenter: () => this.explain(number, false),
        onpointerleave: () => this.explain(-1, false),
      },
      amount("total"),
      amount("base"),
      many("calls"),
      many("callees"),
      many("recursion"),
      many("exceptions"),
      h(
        "span",
        {
          role: "cell",
          style: {
            "padding-left": `${Math.min(depth, MAX_INDENT) * INDENT}px`,
          },
          title: printable(`${fn.name} ${fn.file}`.slice(0, 500)),
        },
        h(
          "button",
          {
            class: "twist",
            tabindex: "-1",
            "aria-hidden": "true",
            onclick: (event: Event) => {
              event.stopPropagation();
              this.toggle(at);
            },
          },
          children ? (opened ? "▾" : "▸") : "",
        ),
        numbers.preexisting[at]! > 0 &&
          h(
            "span",
            { class: "faint", title: "was under way when recording began" },
            "• ",
          ),
        h("bdi", { class: "name" }, displayName(fn.name, 90)),
        " ",
        h("bdi", { class: "faint" }, sourceLocation(fn.file, fn.line, 50)),
      ),
    );
  }

  private select(at: number): void {
    const { rows, tree } = this.data!;
    this.selected = at;
    this.explain(rows ? rows.fn[at]! : tree.fn[at]!, true);
    this.draw();
  }

  private toggle(at: number): void {
    if (this.data!.rows) return;
    if (!this.open.delete(at)) this.open.add(at);
    this.selected = at;
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    if (!this.data) return;
    const { rows, tree } = this.data;
    const at = this.visible.indexOf(this.selected);
    let next = nextRow(event, at, this.visible.length);
    if (next === null && !rows && at >= 0) {
      const opened = this.open.has(this.selected);
      const children = tree.children[this.selected]!.length > 0;
      if (event.key === "ArrowRight") {
        if (children && !opened) this.toggle(this.selected);
        else next = Math.min(at + 1, this.visible.length - 1);
      } else if (event.key === "ArrowLeft") {
        if (opened) this.toggle(this.selected);
        else next = this.visible.indexOf(tree.parent[this.selected]!);
      } else if (event.key === "Enter") this.toggle(this.selected);
      else return;
      event.preventDefault();
    }
    if (next === null || next < 0) return;
    this.select(this.visible[next]!);
    this.list.reveal(next);
  }

  /** The path along the heaviest callees while these have half of the total. */
  private heaviest(): number[] {
    const { tree } = this.data!;
    const { total } = tree.numbers;
    const found: number[] = [];
    let nodes: ArrayLike<number> = tree.roots;
    for (let above = tree.total; nodes.length;) {
      const node = Array.from(nodes).reduce((a, b) =>
        total[b]! > total[a]! ? b : a,
      );
      if (total[node]! * 2 < above) break;
      found.push(node);
      above = total[node]!;
      nodes = tree.children[node]!;
    }
    return found;
  }

  /** Opens what is above the largest rows found. */
  private reveal(): void {
    const { tree, flags } = this.data!;
    const found = [...tree.fn.keys()].filter((node) => flags![tree.fn[node]!]);
    found.sort((a, b) => tree.numbers.total[b]! - tree.numbers.total[a]!);
    for (const node of found.slice(0, MAX_OPENED))
      for (let at = tree.parent[node]!; at >= 0; at = tree.parent[at]!)
        this.open.add(at);
  }
}

/** Not a time: a number of instructions or events. */
export function isCount(metric: string): boolean {
  return metric !== "cpu" && metric !== "wall";
}

export function shown(value: number, metric: string): string {
  if (isCount(metric)) return thousands(value);
  return value ? duration(value) : "0 s";
}
