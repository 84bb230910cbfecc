/** Choosing a name of spans: then only what happened inside counts, as with `--span` in reports. */

import { h } from "../elements/dom";
import { finder } from "../elements/finder";
import { count, duration, displayName, thousands } from "../elements/format";
import { popover } from "../elements/popover";
import type { App } from "../shell/app";

export function spanChoice(app: App) {
  const { spans } = app.recordings[0].meta;
  const button = popover("span", (close) => {
    const choose = (span: number | null) => {
      app.set({ span }, true);
      close();
    };
    return finder({
      one: "span",
      rows: spans.map((row, place) => ({ ...row, place })),
      text: (row) => row.name,
      shows: () => (row) => [
        h(
          "button",
          {
            class: "quiet",
            "aria-pressed": String(app.state.span === row.place),
            onclick: () => choose(row.place),
          },
          h("bdi", null, displayName(row.name, 60)),
        ),
        h("span", { class: "faint" }, spanDetail(row)),
      ],
      all: h(
        "button",
        { class: "quiet", onclick: () => choose(null) },
        "inside and outside spans",
      ),
    }).element;
  });
  return {
    element: button.element,
    update() {
      const { span } = app.state;
      const name = span === null ? null : spans[span]?.name;
      button.label(
        span === null
          ? "all"
          : name === undefined
            ? "none"
            : displayName(name!, 24),
        span !== null,
      );
    },
  };
}

function spanDetail(row: {
  count: number;
  open: number;
  wall_ns: number;
}): string {
  const left = row.count
    ? `${count(row.count, "time")}, ${duration(row.wall_ns)}`
    : "";
  const open = row.open ? `${thousands(row.open)} still open` : "";
  return [left, open].filter(Boolean).join(", ");
}
