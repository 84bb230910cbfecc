import { describe, expect, test } from "vitest";
import type { Loop } from "../../src/data/recording";
import { synthetic } from "../../src/data/synthetic";
import { withLoopWaits } from "../../src/data/tasks";
import { CALLBACK, TASK, type Tasks } from "../../src/data/tasktables";
import { Profiler } from "../../src/profile/profile";
import { EVERYTHING } from "../../src/profile/selection";
import { sumTasks } from "../../src/profile/tasks";
import { AspectColumns, select } from "../../src/views/locks/parts";
import { split, totalOf } from "../../src/views/locks/groups";
import { OTHER, RUN, RUNNABLE } from "../../src/views/timeline/lanes/lane";
import {
  loopLanes,
  SHOWN_TASKS,
  withTasks,
} from "../../src/views/timeline/lanes/tasktracks";

const MS = 1_000_000;
const ints = (...values: number[]) => Int32Array.from(values);
const ms = (...values: number[]) =>
  Float64Array.from(values, (value) => value * MS);

/** Two tasks and a callback; the second task ended. */
const TASKS: Tasks = {
  process: Uint32Array.of(0, 0, 0),
  id: Float64Array.of(1, 2, 3),
  kind: Uint8Array.of(TASK, TASK, CALLBACK),
  fn: ints(1, 2, 3),
  parent: Float64Array.of(0, 1, 0),
  created: Float64Array.of(-1, 10 * MS, -1),
  times: {
    task: ints(0, 1, 2, 0, 1),
    time: ms(20, 30, 40, 60, 80),
    steps: Float64Array.of(2, 1, 5, 1, 3),
    tasks: Float64Array.of(0, 0, 0, 0, 0),
    running: ms(5, 1, 2, 4, 6),
    ready: ms(3, 9, 0, 1, 20),
    suspended: ms(2, 0, 0, 30, 24),
    caused: ms(9, 0, 1, 2, 0),
    ended: Uint8Array.of(0, 0, 0, 0, 1),
  },
  waits: {
    thread: ints(0, 0),
    task: ints(1, 1),
    time: ms(30, 80),
    ready: ms(9, 20),
    suspended: ms(0, 24),
    context: ints(2, 6),
  },
  steps: {
    thread: ints(0, 0),
    task: ints(0, 1),
    time: ms(21, 74),
    duration: ms(9, 12),
    caused: ms(9, 0),
  },
  pieces: {
    wait: ints(0, 0, 1, 2),
    time: ms(30, 30, 80, 0),
    ns: ms(6, 3, 20, 4),
    thread: ints(0, 0, 0, -1),
    waiter: ints(1, 1, 1, -1),
    owner: ints(0, 0, 2, -1),
    waitingContext: ints(2, 2, 6, -1),
    context: ints(3, 6, -1, -1),
    ownFunction: ints(3, 2, -1, -1),
    function: ints(3, 2, -1, -1),
    step: ints(0, 0, 1, -1),
  },
};
const LOOP: Loop = {
  thread: 0,
  runtime: "asyncio",
  steps: 12,
  lag_ns: { mean: MS, max: 20 * MS, p99: 19 * MS },
  lag: [[0, 50 * MS, MS, 9 * MS]],
};
const lock = (name: string) => ({
  name,
  short: name,
  lock_class: "event loop",
  kind: "loop",
  process: 0,
});
const recording = synthetic({
  tasks: TASKS,
  taskNames: ["main", "worker", ""],
  loops: [LOOP],
  locks: [lock("event loop of MainThread"), lock("an event loop")],
  waits: [],
});

describe("sums of tasks", () => {
  test("those that waited longest first, suspended until the end", () => {
    const range = { from: null, to: null, processes: null };
    const rows = sumTasks(recording, TASKS, range);
    expect(
      rows.map((row) => [
        row.name,
        ...[row.running, row.ready, row.suspended].map((ns) => ns / MS),
      ]),
    ).toEqual([
      ["worker", 7, 29, 24],
      ["main", 9, 4, 32 + 40],
      ["fib", 2, 0, 0],
    ]);
    expect(rows[0]).toMatchObject({ created: 10 * MS, ended: 80 * MS });
  });

  test("in a range of time", () => {
    const range = { from: 25 * MS, to: 60 * MS, processes: null };
    expect(
      sumTasks(recording, TASKS, range).map((row) => [
        row.name,
        row.ready / MS,
      ]),
    ).toEqual([
      ["worker", 9],
      ["fib", 0],
    ]);
    expect(sumTasks(recording, TASKS, { ...range, processes: [1] })).toEqual(
      [],
    );
  });
});

test("waits for loops count like those for locks", async () => {
  const waits = withLoopWaits(recording, await recording.waits(), TASKS);
  const columns = new AspectColumns(recording, waits);
  const all = select(waits, Uint8Array.of(1, 1, 1), null, null);
  // What was only added up has its time, and is no wait.
  expect(totalOf(waits, all)).toMatchObject({ wait_ns: 33 * MS, count: 2 });
  const by = (aspect: "owner_task" | "waiter_task", parts = all) =>
    split(waits, parts, parts.rows, columns.values(aspect)).map((group) => [
      group.value,
      group.wait_ns / MS,
      group.count,
    ]);
  expect(by("waiter_task")).toEqual([
    [1, 29, 2],
    [-1, 4, 0],
  ]);
  expect(by("owner_task")).toEqual([
    [2, 20, 1],
    [0, 9, 1],
    [-1, 4, 0],
  ]);
  const part = select(waits, Uint8Array.of(1, 1, 1), 30 * MS, 80 * MS);
  expect(by("owner_task", part)).toEqual([[0, 9, 1]]);
  expect(select(waits, Uint8Array.of(0, 1, 1), null, null).rows).toHaveLength(
    0,
  );
});

test("samples of one task", async () => {
  const samples = [
    [0, 10, 2, 10, 0],
    [0, 20, 3, 10, 0],
    [0, 30, 5, 10, 0],
  ];
  const made = synthetic({ samples, tasks: TASKS, sampleTasks: [0, 1, -1] });
  const profiler = new Profiler(made, await made.samples());
  const total = (task: number | null) =>
    profiler.profile({ ...EVERYTHING, task }).total / MS;
  expect([total(null), total(0), total(1), total(2)]).toEqual([30, 10, 10, 0]);
});

describe("lanes of tasks", () => {
  const [lanes] = [loopLanes(recording, TASKS).get(0)!];

  test("suspended, ready and running, without overlap", () => {
    const [worker, main] = lanes.tasks;
    expect([worker!.task!.name, main!.task!.name]).toEqual(["worker", "main"]);
    const parts = Array.from(worker!.start, (start, i) => [
      start / MS,
      worker!.end[i]! / MS,
      worker!.state[i],
    ]);
    expect(parts).toEqual([
      [21, 30, RUNNABLE],
      [36, 60, OTHER],
      [60, 80, RUNNABLE],
      [80, 86, RUN],
    ]);
    expect(Array.from(main!.state)).toEqual([RUN]);
  });

  test("the lag above the thread, and folded where there are many", () => {
    const thread = { ...lanes.lag, thread: 0, lag: undefined };
    const other = { ...thread, thread: 1 };
    const loops = new Map([[0, lanes]]);
    const shown = withTasks([thread, other], loops, false);
    expect(shown).toEqual([lanes.lag, thread, ...lanes.tasks, other]);
    const many = {
      lag: lanes.lag,
      tasks: Array.from({ length: SHOWN_TASKS + 3 }, () => lanes.tasks[0]!),
    };
    const folded = withTasks([thread], new Map([[0, many]]), false);
    expect(folded).toHaveLength(2 + SHOWN_TASKS + 1);
    expect(folded.at(-1)!.folded).toBe(3);
    expect(withTasks([thread], new Map([[0, many]]), true)).toHaveLength(
      2 + SHOWN_TASKS + 3,
    );
  });
});
