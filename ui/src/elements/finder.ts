/** A list of many rows, and a field to find some of them by their text. */

import { fill, h, type Child } from "./dom";
import { count } from "./format";

const MAX_SHOWN = 300;

export interface FinderOptions<Row> {
  /** What a row is called. */
  readonly one: string;
  readonly rows: readonly Row[];
  readonly text: (row: Row) => string;
  /** Called whenever the list is drawn: what a row shows. */
  readonly shows: () => (row: Row) => Child[];
  /** Shown between the field and the list. */
  readonly all: Child;
}

export function finder<Row>({
  one,
  rows,
  text,
  shows,
  all,
}: FinderOptions<Row>): {
  readonly element: HTMLElement;
  draw(): void;
} {
  const list = h("ul", { class: "ticks" });
  const find = h("input", {
    type: "search",
    placeholder: `find a ${one}`,
    "aria-label": `Find a ${one}`,
    oninput: () => draw(),
  });
  const draw = () => {
    const wanted = find.value.trim().toLowerCase();
    const found = rows.filter((row) =>
      text(row).toLowerCase().includes(wanted),
    );
    const show = shows();
    fill(
      list,
      found.slice(0, MAX_SHOWN).map((row) => h("li", null, ...show(row))),
      found.length > MAX_SHOWN &&
        h(
          "li",
          { class: "faint" },
          `and ${count(found.length - MAX_SHOWN, "more", "more")}: type to find them`,
        ),
    );
  };
  draw();
  return { element: h("div", null, find, all, list), draw };
}
