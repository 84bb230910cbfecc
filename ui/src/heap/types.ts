/** Types by what they retain; a click shows what keeps their objects alive. */

import { h } from "../elements/dom";
import {
  amount,
  count,
  displayName,
  percentOf,
  printable,
  thousands,
} from "../elements/format";
import { shareCell } from "../elements/timecell";
import { VirtualList } from "../elements/virtuallist";
import { nextRow } from "../shell/sorting";
import type { HeapMeta, TypeRow } from "./load";

type By = "retained" | "shallow" | "count" | "type";
const COLUMNS: readonly (readonly [By, string, string])[] = [
  ["retained", "retained", "What would be freed with all objects of the type"],
  ["shallow", "shallow", "Bytes of the objects themselves"],
  ["count", "objects", "How many objects of the type are alive"],
  ["type", "type", "Name of the type"],
];

export class TypeTable {
  readonly element: HTMLElement;
  private readonly list: VirtualList;
  private readonly heads: HTMLButtonElement[];
  private readonly rest = h("p", { class: "faint note" });
  private by: By = "retained";
  private turned = false;
  private wanted = "";
  private shown: TypeRow[] = [];
  private chosen: string | null = null;

  constructor(
    private readonly meta: HeapMeta,
    private readonly choose: (type: string) => void,
  ) {
    this.heads = COLUMNS.map(([by, label, title]) =>
      h("button", { title, onclick: () => this.sort(by) }, label),
    );
    const head = h(
      "div",
      { class: "head", role: "row" },
      this.heads.map((button, at) =>
        h(
          "span",
          {
            role: "columnheader",
            class: COLUMNS[at][0] === "type" ? "" : "number",
          },
          button,
        ),
      ),
    );
    // The share has no head of its own.
    head.children[0].after(h("span"));
    this.list = new VirtualList("grid", "Types", head);
    const find = h("input", {
      type: "search",
      placeholder: "find a type",
      "aria-label": "Find a type",
      oninput: () => {
        this.wanted = find.value.trim().toLowerCase();
        this.draw();
      },
    });
    this.element = h(
      "div",
      { class: "types" },
      h("div", { class: "tools" }, find, this.rest),
      this.list.element,
    );
    this.list.element.addEventListener("keydown", (event) => {
      const at = this.shown.findIndex((row) => row.type === this.chosen);
      const next = nextRow(event, at, this.shown.length);
      if (next !== null) this.choose(this.shown[next].type);
    });
  }

  show(chosen: string | null): void {
    this.chosen = chosen;
    this.draw();
  }

  private sort(by: By): void {
    this.turned = by === this.by && !this.turned;
    this.by = by;
    this.draw();
  }

  private draw(): void {
    const { by } = this;
    const sign = this.turned ? -1 : 1;
    this.shown = this.meta.types
      .filter((row) => row.type.toLowerCase().includes(this.wanted))
      .sort((a, b) =>
        by === "type"
          ? sign * (a.type < b.type ? -1 : a.type > b.type ? 1 : 0)
          : sign * (b[by] - a[by]),
      );
    COLUMNS.forEach(([column, label], at) => {
      const down = (column === "type") === this.turned;
      this.heads[at].textContent =
        label + (column === by ? (down ? " ▾" : " ▴") : "");
    });
    const { typesLeft } = this.meta;
    this.rest.textContent = typesLeft
      ? `The ${thousands(this.meta.types.length)} types that retain the most; ` +
        `${count(typesLeft, "more type")} not shown.`
      : "";
    this.list.show(
      this.shown.length,
      (at) => this.row(at),
      this.shown.findIndex((row) => row.type === this.chosen),
    );
  }

  private row(at: number): HTMLElement {
    const row = this.shown[at];
    const selected = row.type === this.chosen;
    return h(
      "div",
      {
        class: selected ? "row selected" : "row",
        role: "row",
        "aria-selected": String(selected),
        onclick: () => this.choose(row.type),
      },
      h(
        "span",
        { class: "share", role: "cell", title: `${row.retained} bytes` },
        h("i", {
          style: {
            width: percentOf(row.retained, this.meta.bytes, 2).replace(
              /[< ]/g,
              "",
            ),
          },
        }),
        amount(row.retained),
      ),
      shareCell(row.retained, this.meta.bytes),
      h(
        "span",
        {
          class: "number",
          role: "cell",
          title: percentOf(row.shallow, this.meta.bytes),
        },
        amount(row.shallow),
      ),
      h("span", { class: "number", role: "cell" }, thousands(row.count)),
      h(
        "span",
        { role: "cell", title: printable(row.type.slice(0, 500)) },
        h(
          "bdi",
          { class: row.own ? "name own" : "name" },
          displayName(row.type, 90),
        ),
      ),
    );
  }
}
