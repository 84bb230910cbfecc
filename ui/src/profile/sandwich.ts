/**
 * One function with all that call it and all that it calls. Only its outermost frames count: what
 * it does below itself is in their time already. So callers and callees add up to its total.
 */

import { outermostOfAll } from "./flat";
import { withTotals, type Tree } from "./profile";
import { merged, withChildren, type Shape } from "./shape";

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
const MOST_KNOWN = 20;

/** The function as root, with what it called below it. */
export function callees(tree: Tree, fn: number): Tree {
  const { callees: shape, below, places } = sides(tree, fn);
  const { own, waiting, samples } = zeros(shape);
  for (let i = 0; i < below.length; i++) {
    const from = below[i];
    const to = places[i];
    own[to] += tree.own[from];
    waiting[to] += tree.ownWaiting[from];
    samples[to] += tree.samples[from];
  }
  return withTotals(shape, own, waiting, samples);
}

/** The function as root, its callers below it, theirs below them; with the time of the function. */
export function callers(tree: Tree, fn: number): Tree {
  const { callers: shape, frames, ends } = sides(tree, fn);
  const { own, waiting, samples } = zeros(shape);
  frames.forEach((frame, i) => {
    own[ends[i]] += tree.total[frame];
    waiting[ends[i]] += tree.totalWaiting[frame];
    samples[ends[i]] += tree.totalSamples[frame];
  });
  return withTotals(shape, own, waiting, samples);
}

function zeros(shape: Shape) {
  return {
    own: new Float64Array(shape.size),
    waiting: new Float64Array(shape.size),
    samples: new Float64Array(shape.size),
  };
}

function sides(tree: Tree, fn: number): Sides {
  let mine = KNOWN.get(tree.parent);
  if (!mine) KNOWN.set(tree.parent, (mine = new Map()));
  let found = mine.get(fn);
  if (!found) {
    if (mine.size >= MOST_KNOWN) mine.clear();
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
  const below = Array.from(frames);
  const parent = below.map(() => -1);
  for (let i = 0; i < below.length; i++) {
    const at = below[i];
    for (let k = tree.first[at]; k < tree.first[at + 1]; k++) {
      below.push(tree.child[k]);
      parent.push(i);
    }
  }
  const shape = merged({
    parent: Int32Array.from(parent),
    fn: Int32Array.from(below, (at) => tree.fn[at]),
    line: Int32Array.from(below, (at) => tree.line[at]),
  });
  return {
    callees: shape,
    below: Int32Array.from(below),
    places: shape.node,
  };
}

/** The ways from the function's outermost frames up to the roots, as a tree. */
function turned(
  tree: Tree,
  frames: Int32Array,
): Pick<Sides, "callers" | "ends"> {
  const parent: number[] = [];
  const fns: number[] = [];
  const ends = new Int32Array(frames.length);
  const known = new Map<number, number>();
  let span = 1;
  for (let i = 0; i < tree.size; i++)
    if (tree.fn[i] >= span) span = tree.fn[i] + 1;
  frames.forEach((frame, i) => {
    let above = -1;
    for (let at = frame; at >= 0; at = tree.parent[at]) {
      const key = (above + 1) * span + tree.fn[at];
      let found = known.get(key);
      if (found === undefined) {
        known.set(key, (found = parent.length));
        parent.push(above);
        fns.push(tree.fn[at]);
      }
      above = found;
    }
    ends[i] = above;
  });
  const callers = withChildren(Int32Array.from(parent), {
    fn: Int32Array.from(fns),
    // By function, not by line: one that calls from two lines is one caller.
    line: new Int32Array(parent.length),
    node: new Int32Array(0),
  });
  return { callers, ends };
}
