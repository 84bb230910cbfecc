/** The table of tasks: sortable, searchable, reachable by keys. */

import type { Recording } from "../../data/recording";
import { CALLBACK, TASK, type Tasks } from "../../data/tasktables";
import { h } from "../../elements/dom";
import {
  count,
  displayName,
  printable,
  sourceLocation,
  thousands,
} from "../../elements/format";
import { timeCell } from "../../elements/timecell";
import { VirtualList } from "../../elements/virtuallist";
import type { TaskRow } from "../../profile/tasks";
import type { App } from "../../shell/app";
import { byName, ColumnSort, nextRow, type Column } from "../../shell/sorting";

type By = "ready" | "running" | "suspended" | "caused" | "steps" | "name";
const COLUMNS: readonly Column<By>[] = [
  {
    id: "ready",
    label: "ready",
    title: "Could run, but the event loop ran something else",
  },
  { id: "running", label: "running", title: "In its own steps" },
  {
    id: "suspended",
    label: "suspended",
    title: "Awaited something that was not ready",
  },
  {
    id: "caused",
    label: "caused",
    title: "How long others were ready while it ran, summed over them",
  },
  { id: "steps", label: "steps", title: "How often the event loop ran it" },
  { id: "name", label: "task", title: "Name and coroutine", text: true },
];
const TIMES = ["ready", "running", "suspended", "caused"] as const;

export class TaskTable {
  readonly element: HTMLElement;
  private readonly rows: VirtualList;
  private readonly sorting: ColumnSort<By>;
  private shown: TaskRow[] = [];
  private chosen = -1;
  private revealed = -1;

  constructor(
    app: App,
    private readonly take: (row: TaskRow) => void,
    private readonly point: (row: TaskRow | null) => void,
  ) {
    this.sorting = new ColumnSort(app, "tasks", COLUMNS);
    const head = h("div", { class: "head", role: "row" }, this.sorting.heads);
    this.rows = new VirtualList("grid", "Tasks", head);
    this.element = h("div", { class: "tasks-table" }, this.rows.element);
    this.rows.element.addEventListener("keydown", (event) => {
      const next = nextRow(event, this.chosen, this.shown.length);
      if (next !== null) this.take(this.shown[next]);
    });
  }

  show(
    recording: Recording,
    tasks: Tasks,
    rows: readonly TaskRow[],
    chosen: number,
  ): void {
    const [column, down] = this.sorting.current();
    const sign = down ? -1 : 1;
    this.shown = [...rows].sort((a, b) =>
      column === "name"
        ? sign * byName(a.name, b.name)
        : sign * (a[column] - b[column]) || b.ready - a.ready || a.row - b.row,
    );
    this.sorting.mark();
    this.chosen = this.shown.findIndex(({ row }) => row === chosen);
    const sought = chosen === this.revealed ? -1 : this.chosen;
    this.revealed = chosen;
    const whole: Record<string, number> = {};
    for (const key of TIMES)
      whole[key] = rows.reduce((sum, row) => sum + row[key], 0);
    this.rows.show(
      this.shown.length,
      (i) => this.row(recording, tasks, whole, i),
      sought,
    );
  }

  destroy(): void {
    this.rows.destroy();
  }

  private row(
    recording: Recording,
    tasks: Tasks,
    whole: Record<string, number>,
    index: number,
  ): HTMLElement {
    const row = this.shown[index];
    const fn = recording.functions[tasks.fn[row.row]];
    return h(
      "div",
      {
        class: index === this.chosen ? "row selected" : "row",
        role: "row",
        "aria-selected": String(index === this.chosen),
        "data-task": row.row,
        onclick: () => this.take(row),
        onpointerenter: () => this.point(row),
        onpointerleave: () => this.point(null),
      },
      TIMES.map((key) => timeCell(row[key], whole[key])),
      h("span", { class: "number faint", role: "cell" }, thousands(row.steps)),
      h(
        "span",
        { role: "cell", title: printable(row.name.slice(0, 500)) },
        h("bdi", { class: "name" }, displayName(row.name, 60)),
        " ",
        h("bdi", { class: "faint" }, words(tasks, row)),
        " ",
        fn && fn.name !== row.name
          ? h("bdi", { class: "faint" }, displayName(fn.name, 60))
          : null,
        " ",
        fn
          ? h("bdi", { class: "faint" }, sourceLocation(fn.file, fn.line, 40))
          : null,
      ),
    );
  }
}

function words(tasks: Tasks, row: TaskRow): string {
  const kind = tasks.kind[row.row];
  if (kind === TASK) return "";
  return kind === CALLBACK ? "callback" : count(row.tasks, "short task");
}
