/** Every recorded call: the tree, the functions, and calls over time. */

import "./flow.css";
import { BEGIN_UNKNOWN, END_UNKNOWN, type Flow } from "../../data/recording";
import { threadName } from "../../data/names";
import { fill, h } from "../../elements/dom";
import {
  count,
  displayName,
  duration,
  moment,
  sourceLocation,
} from "../../elements/format";
import { flowRows, flowTree, type FlowTree } from "../../profile/flow";
import { search } from "../../profile/search";
import { threadMask } from "../../profile/selection";
import type { App, View } from "../../shell/app";
import {
  formatWindow,
  parseWindow,
  type TimeWindow,
} from "../timeline/drawing/window";
import { callLanes } from "./lanes";
import { FlowTable, isCount, shown } from "./table";
import { Trace } from "./trace";

type Form = "tree" | "functions" | "trace";
const METRICS: Record<string, string> = {
  cpu: "on-CPU",
  wall: "wall-clock",
  instructions: "bytecode instructions",
  "page-faults": "page faults",
  "context-switches": "context switches",
};

export const flow: View = {
  id: "flow",
  title: "Flow",
  key: "w",
  mount(root, app) {
    const recording = app.recordings[0];
    const facts = recording.meta.flow!;
    let asked = 0;
    let tables: Flow | null = null;
    let tree: FlowTree | null = null;
    let treeOf = "";
    let range = "";
    const tools = h("div", { class: "tools" });
    const stage = h(
      "p",
      { class: "empty", role: "status" },
      "Reading the calls …",
    );
    const table = new FlowTable(app, (fn, keep) =>
      app.explain(fn < 0 ? null : functionDetail(app, fn), keep),
    );
    const trace = new Trace({
      point: (call, keep) =>
        app.explain(
          call === null ? null : callDetail(app, tables!, call),
          keep,
        ),
      moved: (to) => app.setSetting("flow", "window", formatWindow(to)),
    });
    table.element.hidden = trace.element.hidden = true;
    fill(root, tools, stage, table.element, trace.element);

    function toolbar(form: Form, what: TimeWindow | null): void {
      const pick = (label: string, value: Form) =>
        h(
          "button",
          {
            class: "segment",
            "aria-pressed": String(form === value),
            onclick: () => app.setSetting("flow", "form", value),
          },
          label,
        );
      const { from, to, span } = app.state;
      const narrowed = from !== null || to !== null || span !== null;
      fill(
        tools,
        h(
          "span",
          { class: "segments", role: "group", "aria-label": "Form" },
          pick("tree", "tree"),
          pick("functions", "functions"),
          facts.events > 0 && pick("over time", "trace"),
        ),
        h(
          "span",
          { class: "total" },
          h(
            "strong",
            { title: `${tree!.total}` },
            shown(tree!.total, facts.metric),
          ),
          ` ${METRICS[facts.metric]}`,
          isCount(facts.metric) || facts.calibrated
            ? ""
            : ", with what recording took",
        ),
        form !== "trace" &&
          narrowed &&
          h("span", { class: "faint" }, "of the whole recording"),
        what &&
          h(
            "span",
            { class: "faint" },
            `${duration(what.to - what.from)} from ${moment(what.from)}`,
          ),
        facts.lostCalls > 0 &&
          h(
            "span",
            { class: "faint" },
            `${count(facts.lostCalls, "call")} without room count for the caller`,
          ),
        form === "trace" &&
          facts.lostEvents > 0 &&
          h(
            "span",
            { class: "faint" },
            `${count(facts.lostEvents, "event")} lost`,
          ),
      );
    }

    return {
      async update() {
        const turn = ++asked;
        const [loaded, spans] = await Promise.all([
          recording.flow(),
          app.state.span === null ? null : recording.spans(),
        ]);
        if (turn !== asked) return;
        tables = loaded;
        const mask = threadMask(recording, app.state);
        const key = mask.join("");
        if (!tree || key !== treeOf) tree = flowTree(recording, loaded, mask);
        treeOf = key;
        const flags = search(recording.functions, app.state.search);
        const form = formOf(app);
        stage.hidden = true;
        table.element.hidden = form === "trace";
        trace.element.hidden = form !== "trace";
        if (form !== "trace") {
          toolbar(form, null);
          const rows =
            form === "functions"
              ? flowRows(tree, recording.functions.length)
              : null;
          const { functions } = recording;
          table.show({ functions, metric: facts.metric, tree, rows, flags });
          return;
        }
        const { slices } = loaded;
        // Another range, or another span, is shown as a whole.
        const { from, to, span } = app.state;
        const now = `${from} ${to} ${span}`;
        if (range && now !== range) app.setSetting("flow", "window", null);
        range = now;
        const timeWindow = windowOf(app, loaded, spans);
        toolbar(form, timeWindow);
        trace.show({
          recording,
          slices,
          lanes: callLanes(slices, mask),
          flags,
          theme: app.theme,
          timeWindow,
        });
      },
      destroy() {
        asked++;
        table.destroy();
        trace.destroy();
      },
    };
  },
};

function formOf(app: App): Form {
  const form = app.setting("flow", "form");
  if (form === "functions") return form;
  const has = app.recordings[0].meta.flow!.events > 0;
  return form === "trace" && has ? form : "tree";
}

/** What was zoomed to; else the selected range, the longest selected span, or all calls. */
function windowOf(
  app: App,
  { slices }: Flow,
  spans: Awaited<ReturnType<App["recordings"][0]["spans"]>> | null,
): TimeWindow {
  const recording = app.recordings[0];
  const whole = Math.max(recording.meta.duration, 1);
  const zoomed = app.setting("flow", "window");
  if (zoomed !== null) return parseWindow(zoomed, whole);
  const { from, to, span } = app.state;
  if (from !== null || to !== null)
    return { from: from ?? 0, to: Math.max(to ?? whole, (from ?? 0) + 1) };
  let longest = -1;
  spans?.path.forEach((path, i) => {
    if (recording.spanPaths.name[path] !== span) return;
    if (longest < 0 || spans.length[i]! > spans.length[longest]!) longest = i;
  });
  if (longest >= 0) {
    const start = spans!.start[longest]!;
    return { from: start, to: start + Math.max(spans!.length[longest]!, 1) };
  }
  let [low, high] = [Infinity, 0];
  for (let i = 0; i < slices.start.length; i++) {
    if (slices.start[i]! < low) low = slices.start[i]!;
    if (slices.end[i]! > high) high = slices.end[i]!;
  }
  return low < high ? { from: low, to: high } : { from: 0, to: whole };
}

function functionDetail(app: App, fn: number): HTMLElement {
  const { name, file, line } = app.recordings[0].functions[fn]!;
  return h(
    "span",
    null,
    h("bdi", { class: "name" }, displayName(name)),
    " ",
    h("bdi", { class: "faint" }, sourceLocation(file, line)),
  );
}

function callDetail(app: App, { slices }: Flow, call: number): HTMLElement {
  const recording = app.recordings[0];
  const cut = slices.cut[call]!;
  const [from, to] = [slices.start[call]!, slices.end[call]!];
  return h(
    "span",
    { class: "call" },
    functionDetail(app, recording.contexts.fn[slices.context[call]!]!),
    ` ${duration(to - from)}, from ${(from / 1e9).toFixed(6)} s`,
    cut & BEGIN_UNKNOWN ? ", began before" : "",
    cut & END_UNKNOWN ? ", not over" : "",
    h(
      "bdi",
      { class: "faint" },
      ` ${threadName(recording.threads[slices.thread[call]!]!)}`,
    ),
  );
}
