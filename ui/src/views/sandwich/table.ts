/** The table of functions: sortable, searchable, reachable by keys. */

import { h } from "../../elements/dom";
import { named, place, printable, thousands } from "../../elements/format";
import { amount, shareOf } from "../../elements/timecell";
import { Rows } from "../../elements/virtuallist";
import type { FlatRow } from "../../profile/flat";
import type { Profile } from "../../profile/profile";
import type { App } from "../../shell/app";
import { told } from "../../shell/detailpanel";
import { byName, Sorting, stepped, type Column } from "../../shell/sorting";

type By = "own" | "total" | "samples" | "name";
const COLUMNS: readonly Column<By>[] = [
  { id: "own", label: "self", title: "Self time of the function" },
  {
    id: "total",
    label: "total",
    title: "Total time with callees; recursion counted once",
  },
  {
    id: "samples",
    label: "samples",
    title: "Samples that ended in the function",
  },
  { id: "name", label: "function", title: "Name and location", text: true },
];

export class FunctionTable {
  readonly element: HTMLElement;
  private readonly rows: Rows;
  private readonly sorting: Sorting<By>;
  private shown: FlatRow[] = [];
  private chosen = -1;
  private revealed = -1;

  constructor(
    private readonly app: App,
    private readonly take: (fn: number) => void,
  ) {
    this.sorting = new Sorting(app, "sandwich", COLUMNS);
    const head = h("div", { class: "head", role: "row" }, this.sorting.heads);
    // The share has no head of its own to sort by.
    head.children[0].after(h("span"));
    head.children[2].after(h("span"));
    this.rows = new Rows("grid", "Functions", head);
    this.element = h("div", { class: "functions" }, this.rows.element);
    this.rows.element.addEventListener("keydown", (event) => this.key(event));
  }

  show(
    profile: Profile,
    rows: readonly FlatRow[],
    flags: Uint8Array | null,
    chosen: number,
  ): void {
    const [column, down] = this.sorting.now();
    this.shown = rows.filter((row) => !flags || flags[row.fn]);
    if (column !== "own" || !down) {
      const name = (row: FlatRow) => profile.functions[row.fn].name;
      const sign = down ? -1 : 1;
      this.shown.sort((a, b) =>
        column === "name"
          ? sign * byName(name(a), name(b))
          : sign * (a[column] - b[column]) || b.own - a.own || a.fn - b.fn,
      );
    }
    this.sorting.mark();
    this.chosen = this.shown.findIndex((row) => row.fn === chosen);
    const sought = chosen === this.revealed ? -1 : this.chosen;
    this.revealed = chosen;
    this.rows.show(this.shown.length, (i) => this.row(profile, i), sought);
  }

  destroy(): void {
    this.rows.destroy();
  }

  private row(profile: Profile, index: number): HTMLElement {
    const row = this.shown[index];
    const fn = profile.functions[row.fn];
    return h(
      "div",
      {
        class: index === this.chosen ? "row selected" : "row",
        role: "row",
        "aria-selected": String(index === this.chosen),
        "data-fn": row.fn,
        onclick: () => this.take(row.fn),
        onpointerenter: () =>
          this.app.explain(told(this.app, profile, { ...row, line: 0 })),
        onpointerleave: () => this.app.explain(null),
      },
      amount(row.own, profile.total, row.ownWaiting),
      shareOf(row.own, profile.total),
      amount(row.total, profile.total, row.totalWaiting),
      shareOf(row.total, profile.total),
      h(
        "span",
        { class: "number faint", role: "cell" },
        row.samples ? thousands(row.samples) : "",
      ),
      h(
        "span",
        {
          role: "cell",
          title: printable(`${fn.name} ${fn.file}`.slice(0, 500)),
        },
        h("bdi", { class: "name" }, named(fn.name, 70)),
        " ",
        h("bdi", { class: "faint" }, place(fn.file, fn.line, 40)),
      ),
    );
  }

  private key(event: KeyboardEvent): void {
    const next = stepped(event, this.chosen, this.shown.length);
    if (next !== null) this.take(this.shown[next].fn);
  }
}
