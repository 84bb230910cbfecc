/** A choice of many: all, or those ticked; a click on "only" takes one alone. */

import type { Part } from "./app";
import { fill, h } from "./dom";
import { count, named } from "./format";
import { popover } from "./popover";

const MOST_SHOWN = 300;

export interface Item {
  readonly row: number;
  readonly label: string;
  readonly detail: string;
}

export interface Items {
  readonly one: string;
  readonly many: string;
  readonly items: readonly Item[];
}

/** `chosen` and `choose` speak of rows; null: all. */
export function ticks(
  { one, many, items }: Items,
  chosen: () => readonly number[] | null,
  choose: (rows: number[] | null) => void,
): Part {
  const everybody = items.map((item) => item.row);
  const set = (rows: number[] | null) => {
    const all = rows === null || rows.length === items.length || !rows.length;
    choose(all ? null : rows.sort((a, b) => a - b));
  };
  const button = popover(many, () => {
    const list = h("ul", { class: "ticks" });
    const find = h("input", {
      type: "search",
      placeholder: `find a ${one}`,
      "aria-label": `Find a ${one}`,
      oninput: () => draw(),
    });
    const draw = () => {
      const wanted = find.value.trim().toLowerCase();
      const found = items.filter((item) =>
        `${item.label} ${item.detail}`.toLowerCase().includes(wanted),
      );
      const ticked = new Set(chosen() ?? everybody);
      fill(
        list,
        found.slice(0, MOST_SHOWN).map((item) =>
          h(
            "li",
            null,
            h(
              "label",
              null,
              h("input", {
                type: "checkbox",
                checked: ticked.has(item.row),
                onchange: () => {
                  if (ticked.has(item.row)) ticked.delete(item.row);
                  else ticked.add(item.row);
                  set([...ticked]);
                  draw();
                },
              }),
              h("bdi", null, named(item.label, 60)),
              h("span", { class: "faint" }, item.detail),
            ),
            h(
              "button",
              {
                class: "quiet",
                "aria-label": `Only ${named(item.label, 60)}`,
                onclick: () => {
                  set([item.row]);
                  draw();
                },
              },
              "only",
            ),
          ),
        ),
        found.length > MOST_SHOWN &&
          h(
            "li",
            { class: "faint" },
            `and ${count(found.length - MOST_SHOWN, "more", "more")}: type to find them`,
          ),
      );
    };
    draw();
    return h(
      "div",
      null,
      find,
      h(
        "button",
        {
          class: "quiet",
          onclick: () => {
            set(null);
            draw();
          },
        },
        `all ${many}`,
      ),
      list,
    );
  });
  return {
    element: button.element,
    update() {
      const rows = chosen();
      const single =
        rows?.length === 1 && items.find((item) => item.row === rows[0]);
      button.label(
        single
          ? named(single.label, 24)
          : rows
            ? `${rows.length} of ${items.length}`
            : "all",
        rows !== null,
      );
    },
  };
}
