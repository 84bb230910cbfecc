/** Tables sorted by a click on the head of a column; which one it is stands in the address. */

import { h } from "../elements/dom";
import type { App } from "./app";

export interface Column<C extends string> {
  readonly id: C;
  readonly label: string;
  readonly title: string;
  /** Names are sorted from a to z and stand left, figures from the largest on. */
  readonly text?: boolean;
}

export class Sorting<C extends string> {
  /** The heads of the columns. */
  readonly heads: HTMLElement[];
  private readonly buttons: HTMLButtonElement[];

  /** At first by the first column. */
  constructor(
    private readonly app: App,
    private readonly view: string,
    private readonly columns: readonly Column<C>[],
  ) {
    this.buttons = columns.map(({ id, label, title }) =>
      h("button", { title, onclick: () => this.by(id) }, label),
    );
    this.heads = columns.map(({ text }, i) =>
      h(
        "span",
        { role: "columnheader", class: text ? "" : "number" },
        this.buttons[i],
      ),
    );
  }

  /** The column, and whether its largest or last comes first. */
  now(): [C, boolean] {
    const said = this.said();
    const name = said.replace(/^-/, "");
    const column =
      this.columns.find(({ id }) => id === name) ?? this.columns[0];
    // A minus turns round what a column is at first.
    return [column.id, said.startsWith("-") === (column.text ?? false)];
  }

  /** Shows at the heads what the table is sorted by. */
  mark(): void {
    const [now, down] = this.now();
    this.columns.forEach(({ id, label }, i) => {
      const arrow = id === now ? (down ? " ▾" : " ▴") : "";
      this.buttons[i].textContent = label + arrow;
      this.heads[i].setAttribute(
        "aria-sort",
        id === now ? (down ? "descending" : "ascending") : "none",
      );
    });
  }

  private said(): string {
    return this.app.own(this.view, "sort") ?? this.columns[0].id;
  }

  private by(column: C): void {
    const turned = this.now()[0] === column && !this.said().startsWith("-");
    this.app.setOwn(this.view, "sort", turned ? `-${column}` : column);
  }
}

/** The row that a key goes to from the chosen one; null: the key is not for that. */
export function stepped(
  event: KeyboardEvent,
  chosen: number,
  rows: number,
): number | null {
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[
    event.key
  ];
  let next: number;
  if (event.key === "Home") next = 0;
  else if (event.key === "End") next = rows - 1;
  else if (step !== undefined) next = chosen + step;
  else return null;
  event.preventDefault();
  return rows ? Math.max(0, Math.min(rows - 1, next)) : null;
}

/** Names as people list them. */
export function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
