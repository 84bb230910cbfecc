/** The page of a store: a map of its time above, the views of what is chosen on it below. */

import { h } from "../elements/dom";
import { count, thousands } from "../elements/format";
import { checklist } from "../page/checklist";
import { changeChips, timeChoice, viewTabs } from "../page/filters";
import { headline } from "../page/heading";
import { openPage } from "../page/page";
import type { App, Part, View } from "../shell/app";
import { StoreController } from "./controller";
import { heatMap } from "./heatmap";
import { meta, type StoreMeta, type Values } from "./load";

export async function openStore(
  root: HTMLElement,
  views: readonly View[],
): Promise<App> {
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser is too old to decompress it");
  const controller = new StoreController(await meta());
  return openPage(root, {
    views,
    subject: () => controller.subject,
    bands: (app, toggleTheme) => [
      // First of all: the others show what is asked for.
      {
        element: h("div", { hidden: true }),
        update: () => controller.follow(app),
      },
      headline(
        app,
        toggleTheme,
        controller.meta.address,
        factsOf(controller.meta),
      ),
      filters(app, views, controller),
      heatMap(app, controller),
    ],
    keys: [
      [
        "Enter",
        "on the map: flame graph of the cell; for a second cell, the difference",
      ],
      ["Shift Enter", "on the map: this cell alone"],
      ["+ 0", "on the map: zoom in; show all of the time"],
    ],
  });
}

function factsOf(meta: StoreMeta): HTMLElement[] {
  const wrong = meta.lost + meta.undecodable;
  return [
    h("span", { class: "fact" }, count(meta.recordings, "recording")),
    h("span", { class: "fact" }, count(meta.hosts, "host")),
    h(
      "span",
      { class: `fact trust ${wrong ? "poor" : "good"}` },
      `${wrong ? "⚠" : "✓"} ${thousands(meta.lost)} lost, ` +
        `${thousands(meta.undecodable)} undecodable of ${count(meta.taken, "sample")}`,
    ),
  ];
}

function filters(
  app: App,
  views: readonly View[],
  controller: StoreController,
): Part {
  const tabs = viewTabs(app, views);
  const times = timeChoice(app);
  const labels = controller.meta.labels
    .filter(({ values }) => values.length > 1)
    .map((values) => labelChoice(controller, values));
  const chips = changeChips(app);
  const parts = [tabs, times, ...labels, chips];
  return {
    element: h(
      "div",
      null,
      h(
        "div",
        { class: "choices" },
        tabs.element,
        h("span", { class: "gap" }),
        times.element,
        labels.map((one) => one.element),
      ),
      chips.element,
    ),
    update: () => parts.forEach((part) => part.update()),
  };
}

/** Recordings with some values of a label. */
function labelChoice(
  controller: StoreController,
  { label, values }: Values,
): Part {
  const items = values.map(([value, recordings], row) => ({
    row,
    label: value ?? "(none)",
    detail: count(recordings, "recording"),
  }));
  return checklist(
    { one: label, many: label, items },
    () => {
      const chosen = controller.selection.where.find(
        ([name]) => name === label,
      )?.[1];
      if (!chosen) return null;
      const wanted = new Set(chosen);
      return items
        .map((item) => item.row)
        .filter((row) => wanted.has(values[row][0]));
    },
    (rows) =>
      controller.choose(label, rows && rows.map((row) => values[row][0])),
  );
}
