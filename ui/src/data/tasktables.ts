/** The tables of event loops and their tasks. */

export const TASK = 0;
export const CALLBACK = 1;
/** Short tasks of one coroutine function, added up. */
export const TASK_GROUP = 2;

export interface Tasks {
  process: Uint32Array;
  id: Float64Array;
  kind: Uint8Array;
  /** Of its coroutine, or the callback; UNKNOWN: not known. */
  fn: Int32Array;
  /** The id of the task that created it; 0: unknown. */
  parent: Float64Array;
  /** -1: before it was recorded. */
  created: Float64Array;
  times: TaskTimes;
  waits: TaskWaits;
  steps: TaskSteps;
  pieces: LoopPieces;
}

/** What tasks did since their row before; to be summed. */
export interface TaskTimes {
  task: Int32Array;
  time: Float64Array;
  steps: Float64Array;
  tasks: Float64Array;
  running: Float64Array;
  ready: Float64Array;
  suspended: Float64Array;
  caused: Float64Array;
  ended: Uint8Array;
}

/** Steps that began at `time` after a long wait: ready before, and suspended before that. */
export interface TaskWaits {
  thread: Int32Array;
  task: Int32Array;
  time: Float64Array;
  ready: Float64Array;
  suspended: Float64Array;
  context: Int32Array;
}

/** Steps that were long, or for which others waited long. */
export interface TaskSteps {
  thread: Int32Array;
  task: Int32Array;
  time: Float64Array;
  duration: Float64Array;
  caused: Float64Array;
}

/** Waiting for a loop, cut by what the steps that ran meanwhile did. */
export interface LoopPieces {
  /** Row of the waits; one more than the last: all waits without a row. */
  wait: Int32Array;
  time: Float64Array;
  ns: Float64Array;
  thread: Int32Array;
  waiter: Int32Array;
  owner: Int32Array;
  waitingContext: Int32Array;
  context: Int32Array;
  ownFunction: Int32Array;
  function: Int32Array;
  step: Int32Array;
}
