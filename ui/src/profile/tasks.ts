/** What tasks of event loops did in the selected time: the rows of `sonde report tasks`. */

import type { Recording } from "../data/recording";
import { taskName } from "../data/tasks";
import { TASK, type Tasks } from "../data/tasktables";
import type { Selection } from "./selection";

export interface TaskRow {
  /** Row of the table of tasks. */
  row: number;
  name: string;
  running: number;
  ready: number;
  suspended: number;
  /** How long others were ready while it ran. */
  caused: number;
  steps: number;
  /** How many tasks are in the row; 0: calls of a callback. */
  tasks: number;
  /** -1: before the recording; of no single task. */
  created: number;
  /** -1: after the recording. */
  ended: number;
}

type Range = Pick<Selection, "from" | "to" | "processes">;

/** Those that waited longest for their loop first. */
export function sumTasks(
  recording: Recording,
  tasks: Tasks,
  { from, to, processes }: Range,
): TaskRow[] {
  const { times } = tasks;
  const size = tasks.kind.length;
  const low = from ?? -Infinity;
  const high = to ?? Infinity;
  const rows: (TaskRow | undefined)[] = new Array<undefined>(size);
  const last = new Float64Array(size).fill(-1);
  for (let i = 0; i < times.task.length; i++) {
    const time = times.time[i]!;
    const task = times.task[i]!;
    if (time < low || time >= high) continue;
    if (processes && !processes.includes(tasks.process[task]!)) continue;
    const row = (rows[task] ??= empty(recording, tasks, task));
    row.running += times.running[i]!;
    row.ready += times.ready[i]!;
    row.suspended += times.suspended[i]!;
    row.caused += times.caused[i]!;
    row.steps += times.steps[i]!;
    row.tasks += times.tasks[i]!;
    last[task] = Math.max(last[task]!, time);
    if (times.ended[i]) row.ended = 0;
  }
  const end = Math.min(recording.meta.duration, high);
  const found: TaskRow[] = [];
  rows.forEach((row, task) => {
    if (!row) return;
    const single = tasks.kind[task] === TASK;
    if (single) row.tasks = 1;
    if (row.ended >= 0) row.ended = last[task]!;
    // It is suspended since its last step.
    else if (single) row.suspended += Math.max(end - last[task]!, 0);
    found.push(row);
  });
  return found.sort(
    (a, b) =>
      b.ready - a.ready || b.running - a.running || b.suspended - a.suspended,
  );
}

function empty(recording: Recording, tasks: Tasks, row: number): TaskRow {
  const created = tasks.created[row]!;
  return {
    row,
    name: taskName(recording, tasks, row),
    running: 0,
    ready: 0,
    suspended: 0,
    caused: 0,
    steps: 0,
    tasks: 0,
    created: created === -1 ? -1 : Math.max(created, 0),
    ended: -1,
  };
}
