/** The table of functions: sortable, searchable, reachable by keys. */

import { h } from "../../elements/dom";
import {
  displayName,
  sourceLocation,
  printable,
  thousands,
} from "../../elements/format";
import { timeCell, shareCell } from "../../elements/timecell";
import { VirtualList } from "../../elements/virtuallist";
import type { FlatRow } from "../../profile/flat";
import type { Profile } from "../../profile/profile";
import type { App } from "../../shell/app";
import { functionDetail } from "../../shell/detailpanel";
import { byName, ColumnSort, nextRow, type Column } from "../../shell/sorting";

type By = "self" | "total" | "samples" | "name";
const COLUMNS: readonly Column<By>[] = [
  { id: "self", label: "self", title: "Self time of the function" },
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
  private readonly rows: VirtualList;
  private readonly sorting: ColumnSort<By>;
  private shown: FlatRow[] = [];
  private chosen = -1;
  private revealed = -1;

  constructor(
    private readonly app: App,
    private readonly take: (fn: number) => void,
  ) {
    this.sorting = new ColumnSort(app, "sandwich", COLUMNS);
    const head = h("div", { class: "head", role: "row" }, this.sorting.heads);
    // The share has no head of its own to sort by.
    head.children[0].after(h("span"));
    head.children[2].after(h("span"));
    this.rows = new VirtualList("grid", "Functions", head);
    this.element = h("div", { class: "functions" }, this.rows.element);
    this.rows.element.addEventListener("keydown", (event) => this.key(event));
  }

  show(
    profile: Profile,
    rows: readonly FlatRow[],
    flags: Uint8Array | null,
    chosen: number,
  ): void {
    const [column, down] = this.sorting.current();
    this.shown = rows.filter((row) => !flags || flags[row.fn]);
    if (column !== "self" || !down) {
      const name = (row: FlatRow) => profile.functions[row.fn].name;
      const sign = down ? -1 : 1;
      this.shown.sort((a, b) =>
        column === "name"
          ? sign * byName(name(a), name(b))
          : sign * (a[column] - b[column]) || b.self - a.self || a.fn - b.fn,
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
          this.app.explain(
            functionDetail(this.app, profile, { ...row, line: 0 }),
          ),
        onpointerleave: () => this.app.explain(null),
      },
      timeCell(row.self, profile.total, row.selfWaiting),
      shareCell(row.self, profile.total),
      timeCell(row.total, profile.total, row.totalWaiting),
      shareCell(row.total, profile.total),
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
        h("bdi", { class: "name" }, displayName(fn.name, 70)),
        " ",
        h("bdi", { class: "faint" }, sourceLocation(fn.file, fn.line, 40)),
      ),
    );
  }

  private key(event: KeyboardEvent): void {
    const next = nextRow(event, this.chosen, this.shown.length);
    if (next !== null) this.take(this.shown[next].fn);
  }
}
