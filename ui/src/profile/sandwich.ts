/**
 * One function with all that call it and all that it calls. Only its outermost frames count: what
 * it does below itself is in their time already. So callers and callees add up to its total.
 */

import { outermostOfAll } from "./flat";
import { withTotals, type Tree } from "./profile";
import { mergeFrames, type Shape } from "./shape";

/** What of it does not depend on the times: made once for a function, whatever is filtered. */
interface Sides {
  readonly callees: Shape;
  readonly callers: Shape;
  /** Outermost frames of the function in the tree, and where their outermost callers are. */
  readonly frames: Int32Array;
  readonly ends: Int32Array;
  /** Those frames with all below them, and which of the callees each is. */
  readonly below: Int32Array;
  readonly places: Int32Array;
}

const KNOWN = new WeakMap<Int32Array, Map<number, Sides>>();
const MAX_KNOWN = 20;

/** The function as root, with what it called below it. */
export function callees(tree: Tree, fn: number): Tree {
  const { callees: shape, below, places } = sides(tree, fn);
  const { self, waiting, samples } = zeros(shape);
  for (let i = 0; i < below.length; i++) {
    const from = below[i];
    const to = places[i];
    self[to] += tree.self[from];
    waiting[to] += tree.selfWaiting[from];
    samples[to] += tree.samples[from];
  }
  return withTotals(shape, self, waiting, samples);
}

/** The function as root, its callers below it, theirs below them; with the time of the function. */
export function callers(tree: Tree, fn: number): Tree {
  const { callers: shape, frames, ends } = sides(tree, fn);
  const { self, waiting, samples } = zeros(shape);
  frames.forEach((frame, i) => {
    self[ends[i]] += tree.total[frame];
    waiting[ends[i]] += tree.totalWaiting[frame];
    samples[ends[i]] += tree.totalSamples[frame];
  });
  return withTotals(shape, self, waiting, samples);
}

function zeros(shape: Shape) {
  return {
    self: new Float64Array(shape.size),
    waiting: new Float64Array(shape.size),
    samples: new Float64Array(shape.size),
  };
}

function sides(tree: Tree, fn: number): Sides {
  let mine = KNOWN.get(tree.parent);
  if (!mine) KNOWN.set(tree.parent, (mine = new Map()));
  let found = mine.get(fn);
  if (!found) {
    if (mine.size >= MAX_KNOWN) mine.clear();
    const frames = outermostFrames(tree, fn);
    found = { frames, ...called(tree, frames), ...turned(tree, frames) };
    mine.set(fn, found);
  }
  return found;
}

/** The function's frames that are below no other of them. */
function outermostFrames(tree: Tree, fn: number): Int32Array {
  const outer = outermostOfAll(tree);
  const frames: number[] = [];
  for (let i = 0; i < tree.size; i++)
    if (tree.fn[i] === fn && outer[i]) frames.push(i);
  return Int32Array.from(frames);
}

/** What is below the frames, as one tree: only that is looked at, not all there is. */
function called(
  tree: Tree,
  frames: Int32Array,
): Pick<Sides, "callees" | "below" | "places"> {
  // Room for all there is: lists that grow, and making arrays of them, took longer than the rest.
  const below = new Int32Array(tree.size);
  const parent = new Int32Array(tree.size);
  const fn = new Int32Array(tree.size);
  const line = new Int32Array(tree.size);
  below.set(frames);
  parent.fill(-1, 0, frames.length);
  let size = frames.length;
  for (let i = 0; i < size; i++) {
    const at = below[i];
    fn[i] = tree.fn[at];
    line[i] = tree.line[at];
    for (let k = tree.first[at]; k < tree.first[at + 1]; k++) {
      below[size] = tree.child[k];
      parent[size++] = i;
    }
  }
  const shape = mergeFrames({
    parent: parent.subarray(0, size),
    fn: fn.subarray(0, size),
    line: line.subarray(0, size),
  });
  return {
    callees: shape,
    below: below.slice(0, size),
    places: shape.node,
  };
}

/** The ways from the function's outermost frames up to the roots, as a tree. */
function turned(
  tree: Tree,
  frames: Int32Array,
): Pick<Sides, "callers" | "ends"> {
  let size = 0;
  for (const frame of frames) size += tree.depth[frame] + 1;
  const parent = new Int32Array(size);
  const fn = new Int32Array(size);
  const ends = new Int32Array(frames.length);
  let next = 0;
  frames.forEach((frame, i) => {
    parent[next] = -1;
    for (let at = frame; at >= 0; at = tree.parent[at]) {
      if (at !== frame) parent[next] = next - 1;
      fn[next++] = tree.fn[at];
    }
    ends[i] = next - 1;
  });
  // By function, not by line: one that calls from two lines is one caller.
  const callers = mergeFrames({ parent, fn, line: new Int32Array(size) });
  for (let i = 0; i < ends.length; i++) ends[i] = callers.node[ends[i]];
  return { callers, ends };
}
