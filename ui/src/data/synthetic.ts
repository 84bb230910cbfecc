/** A recording for tests, small enough to add up by hand. */

import {
  ASPECTS,
  UNKNOWN,
  PREEMPTED,
  RUNNING,
  WAITING,
  type Calls,
  type Contexts,
  type Flow,
  type Loop,
  type Fn,
  type Lock,
  type Mark,
  type Meta,
  type Objects,
  type Process,
  type Recording,
  type Samples,
  type SpanName,
  type Spans,
  type CpuLoss,
  type Thread,
  type Waits,
} from "./recording";
import type { Tasks } from "./tasktables";

const MS = 1_000_000;

const FUNCTIONS: Fn[] = [
  fn("<module>", "/app/main.py", 1, "main"),
  fn("main", "/app/main.py", 10, "main"),
  fn("work", "/app/work.py", 5, "work"),
  fn("fib", "/app/work.py", 20, "work"),
  fn("Cache.get", "/app/cache.py", 41, "cache"),
  fn("_thread.lock.__enter__", "<built-in>", 0, "<built-in>"),
  fn("Thread._bootstrap", "/lib/threading.py", 1000, "threading"),
];

function fn(name: string, file: string, line: number, module: string): Fn {
  return { name, file, line, runtime: "cpython", module };
}

/** [parent, function, line] */
const CONTEXTS: [number, number, number][] = [
  [-1, 0, 3], // 0 <module>:3
  [0, 1, 12], // 1   main:12
  [1, 2, 6], // 2     work:6
  [2, 3, 21], // 3       fib:21
  [3, 3, 21], // 4         fib:21, recursion
  [4, 3, 22], // 5           fib:22
  [1, 2, 7], // 6     work:7, the same function from another line
  [-1, 6, 1001], // 7 Thread._bootstrap:1001
  [7, 2, 6], // 8   work:6
  [8, 4, 43], // 9     Cache.get:43
  [9, 5, 0], // 10      lock.__enter__
];

/** [thread, time, context, weight, state], times in ms */
const SAMPLES: number[][] = [
  [0, 10, 2, 10, RUNNING],
  [0, 20, 3, 10, RUNNING],
  [1, 15, 9, 5, RUNNING],
  [0, 30, 5, 10, RUNNING],
  [1, 40, 10, 25, WAITING],
  [0, 40, 6, 10, RUNNING],
  [1, 50, 9, 10, RUNNING],
  [2, 60, 8, 20, RUNNING],
  [0, 70, 1, 30, WAITING],
  [2, 75, 8, 15, PREEMPTED],
  [0, 80, -1, 10, RUNNING],
  [1, 90, 9, 40, RUNNING],
  [0, 100, 5, 20, RUNNING],
];

/**
 * [wait, thread, start, end, lock, kind, waiter, owner, waiterFunction, ownerFunction,
 * ownerThread, signalling, span, part], times in ms
 */
const WAITS: number[][] = [
  [0, 1, 15, 30, 1, 1, 10, 2, 4, 2, 0, 0],
  [0, 1, 30, 40, 1, 1, 10, 8, 4, 2, 2, 0],
  [1, 2, 20, 36, 1, 1, 10, 2, 4, 2, 0, 0],
  [2, 0, 40, 70, 2, 7, 1, 9, 1, 4, 1, 1],
  [3, 2, 60, 61, 0, 0, 8, UNKNOWN, 2, UNKNOWN, UNKNOWN, 0],
  [4, 2, 61, 64, 0, 0, 8, 3, 2, 3, 0, 0],
];

const KINDS = [
  "gil",
  "lock",
  "rlock",
  "semaphore",
  "condition",
  "event",
  "barrier",
  "queue",
  "join",
  "future",
  "import",
  "io",
  "process",
  "object",
  "loop",
];

const SOURCES: Record<string, string> = {
  "/app/work.py": Array.from(
    { length: 30 },
    (_, i) => `line ${i + 1} of work`,
  ).join("\n"),
};

/** Parts of it that a test wants otherwise. */
export interface Changes {
  functions?: Fn[];
  contexts?: [number, number, number][];
  /** With the path of spans last, if there are spans. */
  samples?: number[][];
  waits?: number[][];
  /** Names of spans, paths as [parent, name], and spans as [thread, start, length, path], in ms. */
  spanNames?: string[];
  spanPaths?: [number, number][];
  spans?: [number, number, number, number][];
  threads?: Thread[];
  locks?: Lock[];
  cpuLoss?: CpuLoss[];
  /** Windows of [thread, start in ms], and calls of [window, context, weight]. */
  windows?: [number, number][];
  calls?: [number, number, number][];
  /** [thread, time, length or UNKNOWN, context, bytes], times in ms. */
  objects?: [number, number, number, number, number][];
  flow?: Flow;
  /** Tasks of event loops, their names, and by sample which one ran. */
  tasks?: Tasks;
  taskNames?: string[];
  sampleTasks?: number[];
  loops?: Loop[];
}

export function synthetic(changes: Changes = {}): Recording {
  const rows = changes.contexts ?? CONTEXTS;
  const contexts: Contexts = {
    parent: Int32Array.from(rows, (row) => row[0]),
    fn: Int32Array.from(rows, (row) => row[1]),
    line: Int32Array.from(rows, (row) => row[2]),
  };
  const sampleRows = changes.samples ?? SAMPLES;
  const samples: Samples = {
    thread: Uint32Array.from(sampleRows, (row) => row[0]!),
    time: Float64Array.from(sampleRows, (row) => row[1]! * MS),
    context: Int32Array.from(sampleRows, (row) => row[2]!),
    weight: Float64Array.from(sampleRows, (row) => row[3]! * MS),
    state: Uint8Array.from(sampleRows, (row) => row[4]!),
    span: Int32Array.from(
      changes.spans ? sampleRows.map((row) => row[5] ?? UNKNOWN) : [],
    ),
    task: Int32Array.from(changes.sampleTasks ?? []),
  };
  const waited = changes.waits ?? WAITS;
  const column = (index: number) => waited.map((row) => row[index]!);
  const waits: Waits = {
    wait: Int32Array.from(column(0)),
    thread: Int32Array.from(column(1)),
    start: Float64Array.from(column(2), (ms) => ms * MS),
    end: Float64Array.from(column(3), (ms) => ms * MS),
    lock: Int32Array.from(column(4)),
    kind: Uint8Array.from(column(5)),
    waiter: Int32Array.from(column(6)),
    owner: Int32Array.from(column(7)),
    waiterFunction: Int32Array.from(column(8)),
    ownerFunction: Int32Array.from(column(9)),
    ownerThread: Int32Array.from(column(10)),
    ns: Float64Array.from(waited, (row) => (row[3]! - row[2]!) * MS),
    notification: Uint8Array.from(column(11)),
    part: Uint8Array.from(waited, (row) => row[13] ?? 0),
    span: Int32Array.from(
      changes.spans ? waited.map((row) => row[12] ?? UNKNOWN) : [],
    ),
  };
  const entered = changes.spans ?? [];
  const spans: Spans = {
    thread: Uint32Array.from(entered, (row) => row[0]),
    start: Float64Array.from(entered, (row) => row[1] * MS),
    length: Float64Array.from(entered, (row) => row[2] * (row[2] < 0 ? 1 : MS)),
    path: Int32Array.from(entered, (row) => row[3]),
  };
  const windows = changes.windows ?? [];
  const counted = changes.calls ?? [];
  const calls: Calls = {
    windowThread: Uint32Array.from(windows, ([thread]) => thread),
    windowTime: Float64Array.from(windows, ([, start]) => start * MS),
    window: Int32Array.from(counted, ([window]) => window),
    context: Int32Array.from(counted, ([, context]) => context),
    weight: Float64Array.from(counted, ([, , weight]) => weight),
  };
  const sampled = changes.objects ?? [];
  const objects: Objects = {
    thread: Uint32Array.from(sampled, (row) => row[0]),
    time: Float64Array.from(sampled, (row) => row[1] * MS),
    length: Float64Array.from(sampled, (row) => row[2] * (row[2] < 0 ? 1 : MS)),
    context: Int32Array.from(sampled, (row) => row[3]),
    bytes: Float64Array.from(sampled, (row) => row[4]),
  };
  const paths = changes.spanPaths ?? [];
  const facts = meta(
    samples.thread.length,
    waited.length,
    entered.length,
    counted.length,
    sampled.length,
    changes.spanNames ?? [],
  );
  facts.counts.tasks = changes.tasks?.kind.length ?? 0;
  facts.taskNames = changes.taskNames ?? [];
  facts.loops = changes.loops ?? [];
  return {
    meta: facts,
    processes: [process()],
    threads: changes.threads ?? [
      thread(100, "MainThread", "MainThread", 0, 90 * MS),
      thread(101, "worker", "worker (101)", 10 * MS, 55 * MS),
      thread(102, "worker", "worker (102)", 10 * MS, 20 * MS),
    ],
    functions: changes.functions ?? FUNCTIONS,
    locks: changes.locks ?? [
      { name: "GIL", short: "GIL", lock_class: "GIL", kind: "gil", process: 0 },
      {
        name: "`with self._lock` in cache.py:43",
        short: "self._lock (cache.py:43)",
        lock_class: "Cache._lock",
        kind: "lock",
        process: 0,
      },
      {
        name: "`jobs.get()` in main.py:12",
        short: "jobs (main.py:12)",
        lock_class: "`jobs.get()` in main.py:12",
        kind: "queue",
        process: 0,
      },
    ],
    marks: marks(),
    cpuLoss: changes.cpuLoss ?? [],
    contexts,
    samples: () => Promise.resolve(samples),
    spanPaths: {
      parent: Int32Array.from(paths, ([parent]) => parent),
      name: Int32Array.from(paths, ([, name]) => name),
    },
    waits: () => Promise.resolve(waits),
    spans: () => Promise.resolve(spans),
    calls: () => Promise.resolve(calls),
    objects: () => Promise.resolve(objects),
    flow: () => Promise.resolve(changes.flow!),
    tasks: () => Promise.resolve(changes.tasks!),
    source: (file) => Promise.resolve(SOURCES[file] ?? null),
  };
}

function thread(
  tid: number,
  name: string,
  label: string,
  start: number,
  cpu: number,
): Thread {
  return {
    process: 0,
    tid,
    name,
    interpreter: 0,
    start,
    end: 100 * MS,
    cpu,
    corrected: -1,
    label,
  };
}

function process(): Process {
  return {
    pid: 100,
    ppid: 1,
    runtime: "cpython",
    version: "3.13.0",
    executable: "/usr/bin/python3.13",
    argv: ["python3.13", "main.py"],
    start: 0,
    end: 100 * MS,
    exit: "code 0",
  };
}

function marks(): Mark[] {
  return [
    { time: 25 * MS, thread: 0, text: "warm" },
    { time: 60 * MS, thread: UNKNOWN, text: "load begins" },
  ];
}

function spanName(name: string): SpanName {
  return {
    name,
    count: 0,
    open: 0,
    wall_ns: 0,
    mean_ns: 0,
    p50_ns: 0,
    p99_ns: 0,
    max_ns: 0,
    cpu_ns: 0,
    wait_ns: {},
    lock_wait_ns: 0,
  };
}

function meta(
  samples: number,
  contentions: number,
  spans: number,
  calls: number,
  objects: number,
  names: string[],
): Meta {
  return {
    file: "synthetic.sonde",
    target: { argv: ["main.py"], what: ["cpu", "waits", "locks"] },
    duration: 100 * MS,
    summary: {
      target: { argv: ["main.py"] },
      duration_ns: 100 * MS,
      cpu_ns: 165 * MS,
      wait_ns: { lock: 41 * MS, queue: 30 * MS, gil: 4 * MS },
      processes: [],
      threads: [],
      top: [],
      findings: [
        {
          title: "Cache.get takes 33 % of the CPU time",
          detail: "55.0 ms of 165 ms",
          share: 0.33,
          view: "sonde report synthetic.sonde tree",
        },
      ],
      quality: { taken: samples, lost: 0 },
    },
    quality: {
      sampler: "self",
      rate_asked: 1000,
      rate_achieved: 998,
      taken: samples,
      lost: 0,
      undecodable: 1,
      truncated: 0,
      cost: 0.006,
      problems: [],
      warnings: [],
    },
    warnings: [],
    kinds: KINDS,
    aspects: [...ASPECTS],
    undecided: 0,
    hasSources: true,
    counts: { samples, contentions, spans, calls, objects, tasks: 0 },
    loops: [],
    taskNames: [],
    flow: null,
    survival: objects > 0,
    advice: [],
    spans: names.map(spanName),
    version: "0.0.0",
  };
}
