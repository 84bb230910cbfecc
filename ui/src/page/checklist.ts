/** A choice of many: all, or those ticked; a click on "only" takes one alone. */

import { h } from "../elements/dom";
import { finder } from "../elements/finder";
import { displayName } from "../elements/format";
import { popover } from "../elements/popover";
import type { Part } from "../shell/app";

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

/** `chosen` and `choose` are about rows; null: all. */
export function checklist(
  { one, many, items }: Items,
  chosen: () => readonly number[] | null,
  choose: (rows: number[] | null) => void,
): Part {
  const allRows = items.map((item) => item.row);
  const set = (rows: number[] | null) => {
    const all = rows === null || rows.length === items.length || !rows.length;
    choose(all ? null : rows.sort((a, b) => a - b));
  };
  const button = popover(many, () => {
    const list = finder<Item>({
      one,
      rows: items,
      text: (item) => `${item.label} ${item.detail}`,
      shows: () => {
        const ticked = new Set(chosen() ?? allRows);
        return (item) => [
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
                list.draw();
              },
            }),
            h("bdi", null, displayName(item.label, 60)),
            h("span", { class: "faint" }, item.detail),
          ),
          h(
            "button",
            {
              class: "quiet",
              "aria-label": `Only ${displayName(item.label, 60)}`,
              onclick: () => {
                set([item.row]);
                list.draw();
              },
            },
            "only",
          ),
        ];
      },
      all: h(
        "button",
        {
          class: "quiet",
          onclick: () => {
            set(null);
            list.draw();
          },
        },
        `all ${many}`,
      ),
    });
    return list.element;
  });
  return {
    element: button.element,
    update() {
      const rows = chosen();
      const single =
        rows?.length === 1 && items.find((item) => item.row === rows[0]);
      button.label(
        single
          ? displayName(single.label, 24)
          : rows
            ? `${rows.length} of ${items.length}`
            : "all",
        rows !== null,
      );
    },
  };
}
