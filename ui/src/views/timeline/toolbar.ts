/** The tools above the lanes. */
import { h } from "../../elements/dom";
import type { App } from "../../shell/app";
import type { TimeWindow } from "./drawing/window";
import { ORDERS, type Order } from "./lanes/order";
import { legend } from "./legend";

export interface Tools {
  /** Whether all of the time is shown. */
  all: boolean;
  range: TimeWindow | null;
  /** Whether the flame graph is shown below. */
  flame: boolean;
  whole: TimeWindow;
  /** Whether all tasks have lanes; null: they have anyway. */
  tasks: boolean | null;
  zoom(factor: number): void;
  show(span: TimeWindow): void;
}

export function toolbar(
  app: App,
  order: Order,
  tools: Tools,
): (HTMLElement | null)[] {
  const { all, range } = tools;
  const sort = h(
    "select",
    {
      "aria-label": "Sort lanes by",
      onchange: () =>
        app.setSetting(
          "timeline",
          "sort",
          sort.value === "cpu" ? null : sort.value,
        ),
    },
    Object.entries(ORDERS).map(([id, title]) =>
      h("option", { value: id, selected: id === order }, title),
    ),
  );
  const button = (
    text: string,
    label: string,
    disabled: boolean,
    run: () => void,
  ) =>
    h(
      "button",
      {
        class: "segment",
        title: label,
        "aria-label": label,
        disabled,
        onclick: run,
      },
      text,
    );
  return [
    h("label", null, h("span", { class: "faint" }, "sort by "), sort),
    h(
      "span",
      { class: "segments" },
      button("+", "Zoom in", false, () => tools.zoom(0.5)),
      button("−", "Zoom out", all, () => tools.zoom(2)),
      button("all", "Show all of the time", all, () => tools.show(tools.whole)),
      button("range", "Zoom to the range", !range, () => {
        if (range) tools.show(range);
      }),
    ),
    h(
      "button",
      {
        "aria-pressed": String(tools.flame),
        class: tools.flame ? "active" : "",
        onclick: () =>
          app.setSetting("timeline", "flame", tools.flame ? null : "below"),
      },
      range ? "flame graph of the range" : "flame graph below",
    ),
    tools.tasks === null
      ? null
      : h(
          "button",
          {
            "aria-pressed": String(tools.tasks),
            class: tools.tasks ? "active" : "",
            onclick: () =>
              app.setSetting("timeline", "tasks", tools.tasks ? null : "all"),
          },
          "all tasks",
        ),
    h("span", { class: "gap" }),
    legend(
      app.theme,
      app.recordings[0]!.cpuLoss.length > 0,
      app.recordings[0]!.meta.counts.tasks > 0,
    ),
  ];
}
