/** A lane: the segments of one thread, or its spans, and how to find what is at a moment. */

import type { Loop } from "../../../data/recording";

export const RUN = 0;
export const GIL = 1;
export const LOCK = 2;
/** Waits for a notification by another thread: a queue, an event, a join. */
export const NOTIFICATION = 3;
/** Waits that no lock event explains: sleep, input and output. */
export const OTHER = 4;
/** Runnable, but preempted. */
export const RUNNABLE = 5;
export const STATES = 6;

export interface Lane {
  /** Row of the table of threads. */
  thread: number;
  start: Float64Array;
  end: Float64Array;
  state: Uint8Array;
  /** Row of the samples; of the waits where the state is one of GIL, LOCK, NOTIFICATION. */
  row: Int32Array;
  /** Of a lane that shows the spans of the thread, and no segments. */
  spans?: SpanTrack;
  /** Of a lane that shows a task. It has no thread and no rows. */
  task?: TaskFacts;
  /** Of a lane that shows how late a loop was. */
  lag?: Loop;
  /** How many tasks have no lane of their own. */
  folded?: number;
}

export interface TaskFacts {
  /** Row of the table of tasks. */
  row: number;
  name: string;
  ready: number;
  start: number;
  end: number;
}

/** Whether it shows what a thread did, not its spans. */
export function isThreadLane(lane: Lane): boolean {
  return lane.thread >= 0 && !lane.spans;
}

export function isLockState(state: number): boolean {
  return state === GIL || state === LOCK || state === NOTIFICATION;
}

/** Spans of one thread in the order of their beginning. */
export interface SpanTrack {
  start: Float64Array;
  end: Float64Array;
  path: Int32Array;
  /** 1: it was not left before the recording ended. */
  open: Uint8Array;
  /** The latest end up to this one: where to begin looking. */
  reach: Float64Array;
  /** In which row it is drawn: one below what it was entered in. */
  level: Uint8Array;
  levels: number;
}

/** The segment at a moment, -1 where nothing is known. */
export function segmentAt(lane: Lane, time: number): number {
  const i = firstAfter(lane, time) - 1;
  return i >= 0 && lane.end[i]! > time ? i : -1;
}

/** The first segment that begins after a moment. */
export function firstAfter(lane: Lane, time: number): number {
  let low = 0;
  let high = lane.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.start[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first that may not have ended at a moment. */
export function firstAt(spans: SpanTrack, time: number): number {
  let low = 0;
  let high = spans.reach.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans.reach[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
