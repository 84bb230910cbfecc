/**
 * A recording as the page sees it: the tables behind `sonde report`, already made one where two
 * read the same to a person (functions and call stacks of several processes).
 *
 * Times are whole nanoseconds since the start of the recording, as JavaScript numbers: exact to
 * 2^53, which is 104 days.
 */

import type { Tasks } from "./tasktables";

export const RUNNING = 0;
export const WAITING = 1;
/** Runnable, but off CPU; counted with the waiting time. */
export const PREEMPTED = 2;

/** In place of a thread, a context or a function: there is none, or it could not be known. */
export const UNKNOWN = -1;

export const OWNER_RELEASED = 1;
export const AFTER_RELEASE = 2;
export const AFTER_NOTIFICATION = 4;

/** What waits can be split by, as `meta.aspects` has it. */
export const ASPECTS = [
  "kind",
  "lock",
  "lock_class",
  "waiter_thread",
  "waiter_function",
  "waiter_chain",
  "owner_thread",
  "owner_function",
  "owner_chain",
  "held_in_function",
  "held_in_chain",
  "waiter_task",
  "owner_task",
] as const;
export type Aspect = (typeof ASPECTS)[number];

export interface Process {
  pid: number;
  ppid: number;
  runtime: string;
  version: string;
  executable: string;
  argv: string[];
  start: number;
  /** null: it still ran when the recording ended, or its end was not recorded. */
  end: number | null;
  exit: string | null;
}

export interface Thread {
  /** Index into `processes`. */
  process: number;
  tid: number;
  name: string;
  interpreter: number;
  start: number;
  /** The recording's end if it still ran then. */
  end: number;
  /** As the kernel counts it; -1: unknown. */
  cpu: number;
  /** The same without steal time; -1: unknown. */
  corrected: number;
  /** No other thread's: the name, with the tid where several bear it. As in `locks --json`. */
  label: string;
}

export interface Fn {
  name: string;
  file: string;
  /** Its first line; 0 for what has no source. */
  line: number;
  runtime: string;
  /** Short package or file name, for colour. */
  module: string;
  /** Whether it is the program's own, not a library's; left out: unknown. */
  own?: boolean;
}

/**
 * The calling context tree: no two siblings read the same. `parent` is less than its id,
 * -1 for a root; `line` is the line executed in that frame.
 */
export interface Contexts {
  parent: Int32Array;
  fn: Int32Array;
  line: Int32Array;
}

/** By thread, and ascending in time within one. A sample covers the `weight` before `time`. */
export interface Samples {
  thread: Uint32Array;
  time: Float64Array;
  /** -1: the sample was taken but its stack could not be decoded: "[undecodable]" in reports. */
  context: Int32Array;
  weight: Float64Array;
  state: Uint8Array;
  /** The path of spans it is in, UNKNOWN: in none. Empty where there are no spans. */
  span: Int32Array;
  /** Row of the tasks; UNKNOWN: no task ran. Empty where there are no tasks. */
  task: Int32Array;
}

/**
 * One row per part of a wait that is attributed to one owner: the rows behind `sonde report locks`.
 *
 * Rows come by wait: those of one wait are neighbours and share the number in `wait`. What a row
 * of the report counts is different waits; its longest and its histogram are of the time that one
 * wait has in that row. With a range of time, a part counts as far as it is inside; it belongs to
 * the selection if `end > from && start < to` (some waits have no length, and count).
 */
export interface Waits {
  wait: Int32Array;
  thread: Int32Array;
  start: Float64Array;
  end: Float64Array;
  lock: Int32Array;
  /** Index into `meta.kinds`. */
  kind: Uint8Array;
  /** Contexts. */
  waiter: Int32Array;
  owner: Int32Array;
  /** Functions, as in `waiter_function`: the innermost one outside the code of locks. */
  waiterFunction: Int32Array;
  ownerFunction: Int32Array;
  ownerThread: Int32Array;
  ns: Float64Array;
  /** 1: for a notification (a queue, an event, a join), not for a lock that another holds. */
  notification: Uint8Array;
  /**
   * OWNER_RELEASED: the owner has released it. AFTER_RELEASE: another thread held it before.
   * AFTER_NOTIFICATION: it is the lock of a condition, which was notified before.
   */
  part: Uint8Array;
  /** As of samples. */
  span: Int32Array;
  /** What tasks waited for their event loops; left out: nothing. */
  loops?: LoopWaits;
}

/** Of the last rows of `Waits`: these are no thread's waits. */
export interface LoopWaits {
  /** The first of these rows. */
  first: number;
  /** From that row on, rows of the tasks. */
  waiterTask: Int32Array;
  ownerTask: Int32Array;
  /** What the holder did, by its samples: the function behind `owner`. */
  heldFunction: Int32Array;
}

/**
 * Spans that read the same from the outermost name to theirs are one path. `parent` is less than
 * its number, -1: entered in no other; `name` is a place in `meta.spans`.
 */
export interface SpanPaths {
  parent: Int32Array;
  name: Int32Array;
}

/** By thread, and ascending in time within one. */
export interface Spans {
  thread: Uint32Array;
  start: Float64Array;
  /** UNKNOWN: it was not left before the recording ended. */
  length: Float64Array;
  path: Int32Array;
}

/** Calls that were counted in windows: the rows behind `sonde report calls`. */
export interface Calls {
  /** By window. */
  windowThread: Uint32Array;
  windowTime: Float64Array;
  /** By call: in which window, and the callee's context; its caller is at the line of the call. */
  window: Int32Array;
  context: Int32Array;
  /** Its weight against the others. */
  weight: Float64Array;
}

/** Sampled objects; before 0 those that were alive when the recording began. */
export interface Objects {
  thread: Uint32Array;
  time: Float64Array;
  /** How long it was alive; UNKNOWN: until the end, or nobody knows. */
  length: Float64Array;
  context: Int32Array;
  /** Bytes that it represents. */
  bytes: Float64Array;
}

/** What happened in calling contexts of threads, exactly; rows of one add up. */
export interface Flow {
  thread: Uint32Array;
  context: Int32Array;
  calls: Float64Array;
  resumptions: Float64Array;
  exceptions: Float64Array;
  /** The metric of the function itself, with what recording took of it. */
  measured: Float64Array;
  overhead: Float64Array;
  /** Calls that were under way when recording began. */
  preexisting: Float64Array;
  slices: CallSlices;
}

/** An event loop. */
export interface Loop {
  /** Row of the table of threads. */
  thread: number;
  runtime: string;
  steps: number;
  lag_ns: { mean: number; max: number; p99: number };
  /** By time: start, end, and how long callbacks were ready before they ran: mean, longest. */
  lag: [number, number, number, number][];
}

/** Calls over time, by thread, depth and start; those of a thread and depth do not overlap. */
export interface CallSlices {
  thread: Uint32Array;
  depth: Int32Array;
  start: Float64Array;
  end: Float64Array;
  context: Int32Array;
  /** BEGIN_UNKNOWN, END_UNKNOWN: what is shown as begin or end is not that of the call. */
  cut: Uint8Array;
}

export const BEGIN_UNKNOWN = 1;
export const END_UNKNOWN = 2;

export interface FlowFacts {
  metric: "cpu" | "wall" | "instructions";
  /** What recording took is not in the numbers. */
  calibrated: boolean;
  lostCalls: number;
  /** 0: the list of entries and exits was not recorded. */
  events: number;
  lostEvents: number;
}

/** What to do about the calls of a site. */
export interface CallAdvice {
  kind: "inline" | "loop";
  caller: number;
  line: number;
  /** Of all calls. */
  weight: number;
  said: string;
}

/** A row of `sonde report spans --json`. */
export interface SpanName {
  name: string;
  count: number;
  open: number;
  wall_ns: number;
  mean_ns: number;
  p50_ns: number;
  p99_ns: number;
  max_ns: number;
  cpu_ns: number;
  wait_ns: Record<string, number>;
  lock_wait_ns: number;
}

export interface Lock {
  /** No other lock's. */
  name: string;
  /** As a sentence calls it. */
  short: string;
  /** What many locks share: the class and attribute that hold them, or where they are acquired. */
  lock_class: string;
  kind: string;
  process: number;
}

export interface Mark {
  time: number;
  /** UNKNOWN: of no thread. */
  thread: number;
  text: string;
}

/** CPU time that a thread lost in an interval. */
export interface CpuLoss {
  thread: number;
  start: number;
  end: number;
  /** Run-queue latency, CPU throttling (quota), steal time; nanoseconds. */
  queue: number;
  quota: number;
  hypervisor: number;
}

export interface Meta {
  /** The file's own name. */
  file: string;
  target: any;
  duration: number;
  /** `sonde report summary --json`. */
  summary: any;
  /** `sonde report quality --json`. */
  quality: any;
  warnings: string[];
  kinds: string[];
  aspects: string[];
  /** Waits whose beginning was lost; in no row. */
  undecided: number;
  hasSources: boolean;
  /** How many rows the parts have, known before they are loaded. */
  counts: {
    samples: number;
    contentions: number;
    spans: number;
    calls: number;
    objects: number;
    tasks: number;
  };
  loops: Loop[];
  /** By row of the tasks; empty for callbacks. */
  taskNames: string[];
  /** null: no call flow was recorded. */
  flow: FlowFacts | null;
  /** Whether sampled objects were followed to their end. */
  survival: boolean;
  advice: CallAdvice[];
  /** By wall time, the longest first. */
  spans: SpanName[];
  /** Version of sonde that made the page. */
  version: string;
}

export interface Recording {
  readonly meta: Meta;
  readonly processes: Process[];
  readonly threads: Thread[];
  readonly functions: Fn[];
  readonly locks: Lock[];
  readonly marks: Mark[];
  readonly cpuLoss: CpuLoss[];
  readonly contexts: Contexts;
  readonly spanPaths: SpanPaths;
  samples(): Promise<Samples>;
  waits(): Promise<Waits>;
  spans(): Promise<Spans>;
  calls(): Promise<Calls>;
  objects(): Promise<Objects>;
  flow(): Promise<Flow>;
  tasks(): Promise<Tasks>;
  /** null: it cannot be had. */
  source(file: string): Promise<string | null>;
}
