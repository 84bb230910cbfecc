/**
 * One function with all that call it and all that it calls. Only its outermost frames count: what
 * it does below itself is in their time already. So callers and callees add up to its total.
 */

import { withTotals, type Tree } from "./profile";
import { withChildren, type Shape } from "./shape";
import { focused, outermost } from "./transform";

/** What of it does not depend on the times: made once for a function, whatever is filtered. */
interface Sides {
  readonly callees: Shape;
  readonly callers: Shape;
  /** Outermost frames of the function in the tree, and where their outermost callers are. */
  readonly frames: Int32Array;
  readonly ends: Int32Array;
}

const KNOWN = new WeakMap<Int32Array, Map<number, Sides>>();
const MOST_KNOWN = 20;

/** The function as root, with what it called below it. */
export function callees(tree: Tree, fn: number): Tree {
  const shape = sides(tree, fn).callees;
  const { own, waiting, samples } = zeros(shape);
  for (let i = 0; i < tree.size; i++) {
    const to = shape.node[i];
    if (to < 0) continue;
    own[to] += tree.own[i];
    waiting[to] += tree.ownWaiting[i];
    samples[to] += tree.samples[i];
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
    found = { callees: focused(tree, fn), ...turned(tree, fn) };
    mine.set(fn, found);
  }
  return found;
}

/** The ways from the function's outermost frames up to the roots, as a tree. */
function turned(
  tree: Tree,
  fn: number,
): Pick<Sides, "callers" | "frames" | "ends"> {
  const outer = outermost(tree, fn);
  const parent: number[] = [];
  const fns: number[] = [];
  const frames: number[] = [];
  const ends: number[] = [];
  const known = new Map<number, number>();
  const span = tree.fn.reduce((most, one) => Math.max(most, one), 0) + 1;
  for (let i = 0; i < tree.size; i++) {
    if (outer[i] !== i) continue;
    let above = -1;
    for (let at = i; at >= 0; at = tree.parent[at]) {
      const key = (above + 1) * span + tree.fn[at];
      let found = known.get(key);
      if (found === undefined) {
        known.set(key, (found = parent.length));
        parent.push(above);
        fns.push(tree.fn[at]);
      }
      above = found;
    }
    frames.push(i);
    ends.push(above);
  }
  const callers = withChildren(Int32Array.from(parent), {
    fn: Int32Array.from(fns),
    // By function, not by line: one that calls from two lines is one caller.
    line: new Int32Array(parent.length),
    node: new Int32Array(0),
  });
  return {
    callers,
    frames: Int32Array.from(frames),
    ends: Int32Array.from(ends),
  };
}
