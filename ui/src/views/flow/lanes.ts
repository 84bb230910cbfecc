/** Where calls are drawn: a thread has a lane for each depth; which calls of a lane are visible. */

import type { CallSlices } from "../../data/recording";
import type { TimeWindow } from "../timeline/drawing/window";

export interface CallLane {
  readonly thread: number;
  readonly depth: number;
  /** Its first call among the slices, and the one after its last. */
  readonly first: number;
  readonly end: number;
}

/** The lanes of the threads that are shown, from top to bottom. */
export function callLanes(
  { thread, depth }: CallSlices,
  shown: ArrayLike<number | boolean>,
): CallLane[] {
  const lanes: CallLane[] = [];
  for (let first = 0; first < thread.length;) {
    let end = first + 1;
    // Slices of a lane are neighbours; steps double, because lanes may be long.
    const same = (i: number) =>
      i < thread.length &&
      thread[i] === thread[first] &&
      depth[i] === depth[first];
    let step = 1;
    while (same(end - 1 + step)) {
      end += step;
      step *= 2;
    }
    for (; step >= 1; step /= 2) if (same(end - 1 + step)) end += step;
    if (shown[thread[first]!])
      lanes.push({ thread: thread[first]!, depth: depth[first]!, first, end });
    first = end;
  }
  return lanes;
}

/** The first call of a lane that ends after a moment. */
export function firstAfter(
  { end }: CallSlices,
  lane: CallLane,
  time: number,
  from = lane.first,
): number {
  let low = from;
  let high = lane.end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end[middle]! > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The call of a lane at a moment, or one within `slack` of it; -1: there is none. */
export function callAt(
  slices: CallSlices,
  lane: CallLane,
  time: number,
  slack: number,
): number {
  const at = firstAfter(slices, lane, time - slack);
  return at < lane.end && slices.start[at]! <= time + slack ? at : -1;
}

/**
 * What to draw of a lane: bars at least a pixel wide. Calls that share a pixel are one bar, so that
 * drawing takes as long as the screen is wide, however many calls there are.
 */
export function eachBar(
  slices: CallSlices,
  lane: CallLane,
  shown: TimeWindow,
  pixels: number,
  draw: (x: number, width: number, call: number, alone: boolean) => void,
): void {
  const scale = pixels / (shown.to - shown.from);
  let at = firstAfter(slices, lane, shown.from);
  while (at < lane.end && slices.start[at]! < shown.to) {
    const x = Math.max((slices.start[at]! - shown.from) * scale, 0);
    const right = Math.min((slices.end[at]! - shown.from) * scale, pixels);
    if (right - x >= 1) {
      draw(x, right - x, at, true);
      at++;
      continue;
    }
    const pixel = Math.floor(x);
    const next = firstAfter(
      slices,
      lane,
      shown.from + (pixel + 1) / scale,
      at + 1,
    );
    draw(pixel, 1, at, next === at + 1);
    at = next;
  }
}
