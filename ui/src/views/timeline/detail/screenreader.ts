/** The lanes and the spans as tables, for screen readers: what the canvas shows. */
import type { Recording } from "../../../data/recording";
import { h } from "../../../elements/dom";
import { duration, displayName, printable } from "../../../elements/format";
import { screenReaderTable } from "../../../elements/screenreader";
import { lossByThread, totalLoss } from "../lanes/cpuloss";
import { isThreadLane, type Lane } from "../lanes/lane";
import type { Times } from "../lanes/times";

const COLUMNS = [
  "CPU time",
  "waiting for the GIL",
  "for locks",
  "for notifications",
  "other waits",
  "runnable",
];

export function timesTable(
  recording: Recording,
  lanes: readonly Lane[],
  times: Times,
): HTMLElement {
  const lost = recording.cpuLoss.length ? lossByThread(recording) : null;
  const heads = [
    "thread",
    ...COLUMNS,
    ...(lost ? ["run-queue latency, throttling, steal"] : []),
  ];
  const { cpu, gil, locks, notifications, other, off } = times;
  const columns = [cpu, gil, locks, notifications, other, off];
  const rows = lanes.filter(isThreadLane).map(({ thread }) => {
    const figures = columns.map((column) => column[thread]!);
    if (lost) figures.push(totalLoss(lost[thread]!));
    return h(
      "tr",
      null,
      h(
        "th",
        { scope: "row" },
        printable(recording.threads[thread]!.label.slice(0, 200)),
      ),
      figures.map((ns) => h("td", { "data-ns": ns }, duration(ns))),
    );
  });
  return screenReaderTable("Threads and their times", heads, rows);
}

/** Tasks that have lanes, and how long they waited for their loops. */
export function tasksTable(lanes: readonly Lane[]): HTMLElement | null {
  const tasks = lanes.flatMap((lane) => lane.task ?? []);
  if (!tasks.length) return null;
  const rows = tasks.map(({ name, ready }) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, displayName(name, 60)),
      h("td", { "data-ns": ready }, duration(ready)),
    ),
  );
  const heads = ["task", "waiting for its event loop"];
  const made = screenReaderTable("Tasks on the timeline", heads, rows);
  made.classList.add("tasks");
  return made;
}

/** Times by the name of the span. */
export function spansTable(recording: Recording): HTMLElement | null {
  const { spans } = recording.meta;
  if (!spans.length) return null;
  const heads = ["span", "times", "wall time", "CPU time", "for locks"];
  const rows = spans.slice(0, 300).map((row) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, displayName(row.name, 60)),
      h("td", null, row.count),
      [row.wall_ns, row.cpu_ns, row.lock_wait_ns].map((ns) =>
        h("td", { "data-ns": ns }, duration(ns)),
      ),
    ),
  );
  const made = screenReaderTable("Spans and their times", heads, rows);
  made.classList.add("spans");
  return made;
}
