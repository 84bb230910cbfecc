/** The table of functions: sortable, searchable, reachable by keys. */

import type { FlatRow } from "../../profile/flat";
import type { Profile } from "../../profile/profile";
import { amount, shareOf } from "../../shell/amount";
import type { App } from "../../shell/app";
import { h } from "../../shell/dom";
import { named, place, printable, thousands } from "../../shell/format";
import { Rows } from "../../shell/rows";
import { told } from "../../shell/told";

type Column = "own" | "total" | "samples" | "name";
const COLUMNS: readonly [Column, string, string][] = [
  ["own", "self", "Time in the function itself"],
  ["total", "total", "With all that it called; recursion counted once"],
  ["samples", "samples", "Samples that ended in the function"],
  ["name", "function", "Name and place"],
];

export class FunctionTable {
  readonly element: HTMLElement;
  private readonly rows: Rows;
  private readonly heads: HTMLButtonElement[];
  private shown: FlatRow[] = [];
  private chosen = -1;
  private revealed = -1;

  constructor(
    private readonly app: App,
    private readonly take: (fn: number) => void,
  ) {
    this.heads = COLUMNS.map(([column, label, title]) =>
      h("button", { title, onclick: () => this.sortBy(column) }, label),
    );
    const head = h(
      "div",
      { class: "head", role: "row" },
      this.heads.map((button, i) =>
        h(
          "span",
          { role: "columnheader", class: i < 3 ? "number" : "" },
          button,
        ),
      ),
    );
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
    const [column, down] = this.sorting();
    this.shown = rows.filter((row) => !flags || flags[row.fn]);
    if (column !== "own" || !down) {
      const name = (row: FlatRow) => profile.functions[row.fn].name;
      const sign = down ? -1 : 1;
      this.shown.sort((a, b) =>
        column === "name"
          ? sign * (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0)
          : sign * (a[column] - b[column]) || b.own - a.own || a.fn - b.fn,
      );
    }
    this.heads.forEach((button, i) => {
      const mine = COLUMNS[i][0] === column;
      button.textContent = COLUMNS[i][1] + (mine ? (down ? " ▾" : " ▴") : "");
      button.parentElement!.setAttribute(
        "aria-sort",
        mine ? (down ? "descending" : "ascending") : "none",
      );
    });
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

  private sorting(): [Column, boolean] {
    const said = this.app.own("sandwich", "sort") ?? "own";
    const column = said.replace(/^-/, "") as Column;
    const known = COLUMNS.some(([name]) => name === column) ? column : "own";
    // Names read from a to z, figures from the largest on; a minus turns it round.
    return [known, said.startsWith("-") === (known === "name")];
  }

  private sortBy(column: Column): void {
    const [now] = this.sorting();
    const said = this.app.own("sandwich", "sort") ?? "own";
    const turned = now === column && !said.startsWith("-");
    this.app.setOwn("sandwich", "sort", turned ? `-${column}` : column);
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[
      event.key
    ];
    const last = this.shown.length - 1;
    let next: number;
    if (event.key === "Home") next = 0;
    else if (event.key === "End") next = last;
    else if (step !== undefined) next = this.chosen + step;
    else return;
    event.preventDefault();
    if (last < 0) return;
    this.take(this.shown[Math.max(0, Math.min(last, next))].fn);
  }
}
