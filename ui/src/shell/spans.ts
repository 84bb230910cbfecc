/** Choosing a name of spans: then only what happened inside counts, as with `--span` in reports. */

import type { App } from "./app";
import { fill, h } from "./dom";
import { count, duration, named, thousands } from "./format";
import { popover } from "./popover";

const MOST_SHOWN = 300;

export function spanChoice(app: App) {
  const { spans } = app.recordings[0].meta;
  const button = popover("span", (close) => {
    const choose = (span: number | null) => {
      app.set({ span }, true);
      close();
    };
    const list = h("ul", { class: "ticks" });
    const find = h("input", {
      type: "search",
      placeholder: "find a span",
      "aria-label": "Find a span",
      oninput: () => draw(),
    });
    const draw = () => {
      const wanted = find.value.trim().toLowerCase();
      const found = spans
        .map((row, place) => ({ ...row, place }))
        .filter((row) => row.name.toLowerCase().includes(wanted));
      fill(
        list,
        found.slice(0, MOST_SHOWN).map((row) =>
          h(
            "li",
            null,
            h(
              "button",
              {
                class: "quiet",
                "aria-pressed": String(app.state.span === row.place),
                onclick: () => choose(row.place),
              },
              h("bdi", null, named(row.name, 60)),
            ),
            h("span", { class: "faint" }, told(row)),
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
        { class: "quiet", onclick: () => choose(null) },
        "in and out of spans",
      ),
      list,
    );
  });
  return {
    element: button.element,
    update() {
      const { span } = app.state;
      const name = span === null ? null : spans[span]?.name;
      button.label(
        span === null ? "all" : name === undefined ? "none" : named(name!, 24),
        span !== null,
      );
    },
  };
}

function told(row: { count: number; open: number; wall_ns: number }): string {
  const left = row.count
    ? `${count(row.count, "time")}, ${duration(row.wall_ns)}`
    : "";
  const open = row.open ? `${thousands(row.open)} not left` : "";
  return [left, open].filter(Boolean).join(", ");
}
