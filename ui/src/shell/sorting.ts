/** Tables sorted by a click on the head of a column; which one it is is in the address. */

import { h } from "../elements/dom";
import type { App } from "./app";

export interface Column<C extends string> {
  readonly id: C;
  readonly label: string;
  readonly title: string;
  /** Names are sorted from a to z and aligned left, numbers from the largest on. */
  readonly text?: boolean;
}

export class ColumnSort<C extends string> {
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
  current(): [C, boolean] {
    const setting = this.setting();
    const name = setting.replace(/^-/, "");
    const column =
      this.columns.find(({ id }) => id === name) ?? this.columns[0];
    // A minus turns round what a column is at first.
    return [column.id, setting.startsWith("-") === (column.text ?? false)];
  }

  /** Shows at the heads what the table is sorted by. */
  mark(): void {
    const [current, down] = this.current();
    this.columns.forEach(({ id, label }, i) => {
      const arrow = id === current ? (down ? " ▾" : " ▴") : "";
      this.buttons[i].textContent = label + arrow;
      this.heads[i].setAttribute(
        "aria-sort",
        id === current ? (down ? "descending" : "ascending") : "none",
      );
    });
  }

  private setting(): string {
    return this.app.setting(this.view, "sort") ?? this.columns[0].id;
  }

  private by(column: C): void {
    const reverse =
      this.current()[0] === column && !this.setting().startsWith("-");
    this.app.setSetting(this.view, "sort", reverse ? `-${column}` : column);
  }
}

/** The row that a key goes to from the chosen one; null: the key is not for that. */
export function nextRow(
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

/** Names in ascending order. */
export function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
