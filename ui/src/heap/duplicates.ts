/** Equal values, and arrays that are nearly empty: what both waste, and who holds them. */

import { h, type Child } from "../elements/dom";
import {
  amount,
  count,
  displayName,
  percentOf,
  shorten,
  thousands,
} from "../elements/format";
import type { HeapMeta } from "./load";

const MAX_NAME = 80;

export function duplicatesView(
  meta: HeapMeta,
  choose: (target: string) => void,
): HTMLElement {
  const { duplicates } = meta;
  const type = (name: string) =>
    h(
      "button",
      {
        class: "quiet",
        title: "show what keeps objects of this type alive",
        onclick: () => choose(name),
      },
      h("bdi", null, displayName(name, MAX_NAME)),
    );
  return h(
    "div",
    { class: "duplicates" },
    h(
      "h2",
      null,
      `Equal values take ${amount(duplicates.wasted)} more than one of each would`,
    ),
    table(
      ["wasted", "objects", "type", "value", "one is in"],
      duplicates.rows.map((row) => [
        amount(row.wasted),
        thousands(row.count),
        type(row.type),
        h("bdi", null, row.value === null ? "" : `"${shorten(row.value, 60)}"`),
        h("bdi", null, displayName(row.holder, MAX_NAME)),
      ]),
    ),
    meta.duplicatesLeft > 0 &&
      h(
        "p",
        { class: "faint" },
        `${count(meta.duplicatesLeft, "more value")} not shown.`,
      ),
    h(
      "h2",
      null,
      `Containers at most a quarter full: ${amount(duplicates.sparse_wasted)} unused`,
    ),
    table(
      ["unused", "objects", "type", "used", "in"],
      duplicates.sparse.map((row) => [
        amount(row.wasted),
        thousands(row.count),
        type(row.type),
        percentOf(row.used, row.room),
        h("bdi", null, displayName(row.holder, MAX_NAME)),
      ]),
    ),
  );
}

function table(heads: readonly string[], rows: Child[][]): HTMLElement {
  const number = (at: number) => (at < 2 ? { class: "number" } : null);
  return h(
    "table",
    null,
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        heads.map((head, at) => h("th", { scope: "col", ...number(at) }, head)),
      ),
    ),
    h(
      "tbody",
      null,
      rows.map((row) =>
        h(
          "tr",
          null,
          row.map((cell, at) => h("td", number(at), cell)),
        ),
      ),
    ),
  );
}
