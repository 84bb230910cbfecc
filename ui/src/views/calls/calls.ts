/** Counted calls: all edges in a table, the chosen one beside it, and what to do about them. */

import "./calls.css";
import type { Calls } from "../../data/recording";
import { fill, h } from "../../elements/dom";
import { count } from "../../elements/format";
import { callGraph, type CallEdge, type CallGraph } from "../../profile/calls";
import { search } from "../../profile/search";
import { isNarrowed } from "../../profile/selection";
import type { App, View } from "../../shell/app";
import { Detail } from "./detail";
import { EdgeTable, keyOf } from "./table";

export const calls: View = {
  id: "calls",
  title: "Calls",
  key: "a",
  mount(root, app) {
    const recording = app.recordings[0];
    if (!recording.meta.counts.calls) {
      fill(root, unrecorded());
      return { update() {}, destroy() {} };
    }
    let graph: CallGraph | null = null;
    let of = "";
    let asked = 0;
    const take = (edge: CallEdge) =>
      app.setSetting("calls", "edge", keyOf(edge), true);
    const table = new EdgeTable(app, take);
    const detail = new Detail(app, take);
    const summaryLine = h("p", { class: "summary" });
    const both = h(
      "div",
      { class: "calls-view" },
      h("div", { class: "edges" }, summaryLine, table.element),
      detail.element,
    );
    const empty = h(
      "div",
      { class: "empty-room" },
      h("p", { class: "empty", role: "status" }, "Reading the calls …"),
    );
    both.hidden = true;
    fill(root, both, empty);

    return {
      async update() {
        const turn = ++asked;
        const counted = await recording.calls();
        if (turn !== asked) return;
        const { threads, processes, from, to } = app.state;
        const wanted = JSON.stringify([threads, processes, from, to]);
        if (!graph || of !== wanted)
          graph = callGraph(recording, counted, app.state);
        of = wanted;
        const none = !graph.edges.length;
        both.hidden = none;
        fill(empty, none && nothing(app));
        if (none) return;
        const key = app.setting("calls", "edge");
        const chosen =
          graph.edges.find((edge) => keyOf(edge) === key) ?? graph.edges[0];
        fill(summaryLine, ...summary(app, graph, counted));
        const flags = search(graph.functions, app.state.search);
        table.show(graph, flags, chosen);
        detail.show(graph, chosen);
      },
      destroy() {
        asked++;
        table.destroy();
      },
    };
  },
};

function summary(app: App, graph: CallGraph, counted: Calls): string[] {
  const called = new Set(graph.edges.map((edge) => edge.callee));
  const words = [
    `${count(graph.count, "call")} of ${count(called.size, "function")} counted ` +
      `in ${count(graph.windows, "window")}.`,
  ];
  if (graph.windows < counted.windowTime.length)
    words.push(
      ` The recording has ${count(counted.windowTime.length, "one")}.`,
    );
  if (app.state.span !== null) words.push(" Calls cannot be selected by span.");
  return words;
}

function unrecorded(): HTMLElement {
  return h(
    "p",
    { class: "empty" },
    "No calls were counted; count them with: ",
    h("code", null, "sonde run --what +calls …"),
  );
}

function nothing(app: App): HTMLElement {
  return h(
    "div",
    { class: "empty" },
    h("p", null, "No calls were counted in this part of the recording."),
    isNarrowed(app.state) &&
      h(
        "button",
        {
          onclick: () =>
            app.set(
              { threads: null, processes: null, from: null, to: null },
              true,
            ),
        },
        "Show the whole recording",
      ),
  );
}
