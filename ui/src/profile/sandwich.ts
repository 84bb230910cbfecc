/**
 * One function with all that call it and all that it calls. Only its outermost frames count: what
 * it does below itself is in their time already. So callers and callees add up to its total.
 */

import { withTotals, type Tree } from "./profile";
import { withChildren, type Shape } from "./shape";
import { focused, outermost } from "./transform";

/** The function as root, with what it called below it. */
export function callees(tree: Tree, fn: number): Tree {
  const shape = focused(tree, fn);
  const to = (i: number) => shape.node[i];
  return added(shape, (own, waiting, samples) => {
    for (let i = 0; i < tree.size; i++) {
      if (to(i) < 0) continue;
      own[to(i)] += tree.own[i];
      waiting[to(i)] += tree.ownWaiting[i];
      samples[to(i)] += tree.samples[i];
    }
  });
}

/** The function as root, its callers below it, theirs below them; with the time of the function. */
export function callers(tree: Tree, fn: number): Tree {
  const outer = outermost(tree, fn);
  const parent: number[] = [];
  const fns: number[] = [];
  const ends: [at: number, node: number][] = [];
  const known = new Map<number, number>();
  const span = tree.fn.reduce((most, one) => Math.max(most, one), 0) + 1;
  for (let i = 0; i < tree.size; i++) {
    if (outer[i] !== i || !tree.totalSamples[i]) continue;
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
    ends.push([above, i]);
  }
  const shape = withChildren(Int32Array.from(parent), {
    fn: Int32Array.from(fns),
    // By function, not by line: one that calls from two lines is one caller.
    line: new Int32Array(parent.length),
    node: new Int32Array(0),
  });
  return added(shape, (own, waiting, samples) => {
    for (const [at, node] of ends) {
      own[at] += tree.total[node];
      waiting[at] += tree.totalWaiting[node];
      samples[at] += tree.totalSamples[node];
    }
  });
}

function added(
  shape: Shape,
  put: (
    own: Float64Array,
    waiting: Float64Array,
    samples: Float64Array,
  ) => void,
): Tree {
  const own = new Float64Array(shape.size);
  const ownWaiting = new Float64Array(shape.size);
  const samples = new Float64Array(shape.size);
  put(own, ownWaiting, samples);
  return withTotals(shape, own, ownWaiting, samples);
}
