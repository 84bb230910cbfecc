/** Tasks of event loops: running, ready and suspended; a click selects the samples of one. */

import "./tasks.css";
import type { Recording } from "../../data/recording";
import { TASK, type Tasks } from "../../data/tasktables";
import { fill, h } from "../../elements/dom";
import {
  count,
  displayName,
  duration,
  moment,
  shorten,
  thousands,
} from "../../elements/format";
import { sumTasks, type TaskRow } from "../../profile/tasks";
import type { View } from "../../shell/app";
import { stackFrames, stackLine } from "../locks/callstack";
import { TaskTable } from "./table";

/** Places of suspension that are listed of a task. */
const AWAITS = 4;

export const tasks: View = {
  id: "tasks",
  title: "Tasks",
  key: "k",
  mount(root, app) {
    const recording = app.recordings[0];
    if (!recording.meta.counts.tasks) {
      fill(root, nothing(recording));
      return { update() {}, destroy() {} };
    }
    let tables: Tasks | null = null;
    let destroyed = false;
    const explain = (row: TaskRow) => detail(recording, tables!, row);
    const table = new TaskTable(
      app,
      (row) => {
        if (tables!.kind[row.row] !== TASK) return;
        app.set({ task: app.state.task === row.row ? null : row.row }, true);
        app.explain(explain(row), true);
      },
      (row) => app.explain(row && explain(row)),
    );
    const tools = h("div", { class: "tools" }, loopTexts(recording));
    fill(root, tools, table.element);
    void recording.tasks().then((found) => {
      if (destroyed) return;
      tables = found;
      update();
    });

    function update(): void {
      if (!tables) return;
      const wanted = app.state.search.toLowerCase();
      const rows = sumTasks(recording, tables, app.state).filter(
        (row) => !wanted || row.name.toLowerCase().includes(wanted),
      );
      table.show(recording, tables, rows, app.state.task ?? -1);
    }

    return {
      update,
      destroy() {
        destroyed = true;
        table.destroy();
      },
    };
  },
};

function nothing(recording: Recording): HTMLElement {
  const what: unknown = recording.meta.target?.what;
  const asked = Array.isArray(what) && what.includes("tasks");
  return h(
    "div",
    { class: "empty" },
    h(
      "p",
      null,
      asked ? "No event loop took a step." : "Tasks were not recorded.",
    ),
    asked
      ? null
      : h(
          "p",
          null,
          "To record tasks of event loops: ",
          h("code", null, "sonde run --what +tasks app.py"),
        ),
  );
}

function loopTexts(recording: Recording): HTMLElement[] {
  return recording.meta.loops.map((loop) => {
    const thread = recording.threads[loop.thread];
    const { mean, p99, max } = loop.lag_ns;
    return h(
      "span",
      { class: "loop" },
      h("b", null, `Event loop of ${shorten(thread.label, 60)}`),
      ` (${loop.runtime}): ${count(loop.steps, "step")}; callbacks were ready for ` +
        `${duration(mean)} on average before they ran, 99 % for less than ` +
        `${duration(p99)}, the longest for ${duration(max)}`,
    );
  });
}

/** One task in words: its life, and where it was suspended for longest. */
export function detail(
  recording: Recording,
  tables: Tasks,
  row: TaskRow,
): HTMLElement {
  const parent = tables.id.indexOf(tables.parent[row.row]);
  const life = [
    row.created >= 0 ? `created at ${moment(row.created)}` : "",
    row.ended >= 0 ? `ended at ${moment(row.ended)}` : "",
    tables.parent[row.row] && parent >= 0
      ? `by ${shorten(recording.meta.taskNames[parent] || "a task", 60)}`
      : "",
  ].filter(Boolean);
  return h(
    "div",
    null,
    h(
      "p",
      { class: "detail" },
      h("span", { class: "name" }, displayName(row.name, 80)),
      h("span", null, `running ${duration(row.running)}`),
      h("span", null, `ready ${duration(row.ready)}`),
      h("span", null, `suspended ${duration(row.suspended)}`),
      h("span", { class: "faint" }, `${thousands(row.steps)} steps`),
      h("span", { class: "faint" }, life.join(", ")),
    ),
    awaits(recording, tables, row.row).map(([place, ns]) =>
      h("p", { class: "faint" }, `suspended ${duration(ns)} in ${place}`),
    ),
  );
}

function awaits(
  recording: Recording,
  { waits }: Tasks,
  task: number,
): [string, number][] {
  const sums = new Map<number, number>();
  waits.task.forEach((of, i) => {
    const context = waits.context[i];
    if (of !== task || context < 0) return;
    sums.set(context, (sums.get(context) ?? 0) + waits.suspended[i]);
  });
  return [...sums]
    .sort((a, b) => b[1] - a[1])
    .slice(0, AWAITS)
    .map(([context, ns]) => [
      stackLine(stackFrames(recording, context, -1)),
      ns,
    ]);
}
