/** Choosing threads and processes. */

import type { Thread } from "../data/recording";
import type { App } from "./app";
import { fill, h } from "./dom";
import { count, duration, named, shortened } from "./format";
import { popover } from "./popover";

const MOST_SHOWN = 300;

interface Item {
  readonly row: number;
  readonly label: string;
  readonly detail: string;
}

export function threadChoice(app: App) {
  const { threads } = app.recordings[0];
  const items = threads
    .map((thread, row) => ({ row, thread }))
    .sort((a, b) => b.thread.cpu - a.thread.cpu || a.row - b.row)
    .map(({ row, thread }) => ({
      row,
      label: nameOf(thread),
      detail: cpuOf(thread),
    }));
  return choice(app, "threads", "thread", "threads", items);
}

export function processChoice(app: App) {
  const { processes } = app.recordings[0];
  const items = processes.map((process, row) => ({
    row,
    label: `${process.pid}`,
    detail: shortened(process.argv.join(" "), 60),
  }));
  return choice(app, "processes", "process", "processes", items);
}

export function nameOf(thread: Thread): string {
  return thread.label || thread.name || String(thread.tid);
}

function cpuOf(thread: Thread): string {
  return thread.cpu >= 0 ? `${duration(thread.cpu)} CPU` : "";
}

/** All, or those ticked; a click on a name takes it alone. */
function choice(
  app: App,
  key: "threads" | "processes",
  one: string,
  many: string,
  items: readonly Item[],
) {
  const everybody = items.map((item) => item.row);
  const set = (rows: number[] | null) => {
    const all = rows === null || rows.length === items.length || !rows.length;
    app.set({ [key]: all ? null : rows.sort((a, b) => a - b) });
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
      const chosen = new Set(app.state[key] ?? everybody);
      fill(
        list,
        found.slice(0, MOST_SHOWN).map((item) =>
          h(
            "li",
            null,
            h(
              "label",
              null,
              tick(item, chosen, () => {
                if (chosen.has(item.row)) chosen.delete(item.row);
                else chosen.add(item.row);
                set([...chosen]);
                draw();
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
      const chosen = app.state[key];
      const single =
        chosen?.length === 1 && items.find((item) => item.row === chosen[0]);
      button.label(
        single
          ? named(single.label, 24)
          : chosen
            ? `${chosen.length} of ${items.length}`
            : "all",
        chosen !== null,
      );
    },
  };
}

function tick(
  item: Item,
  chosen: Set<number>,
  toggle: () => void,
): HTMLElement {
  return h("input", {
    type: "checkbox",
    checked: chosen.has(item.row),
    onchange: toggle,
  });
}
