/** Time by function, whatever calls it. */

import type { Profile, Tree } from "./profile";
import type { Shape } from "./shape";

export interface FlatRow {
  readonly fn: number;
  readonly self: number;
  /** Recursion counted once. */
  readonly total: number;
  /** Samples that ended in it. */
  readonly samples: number;
  readonly selfWaiting: number;
  readonly totalWaiting: number;
}

const OUTER = new WeakMap<Int32Array, Uint8Array>();

/** Functions with samples, by self time, then by total, descending. */
export function flat(profile: Profile): FlatRow[] {
  const tree = profile.tree(true);
  const size = profile.functions.length;
  const self = new Float64Array(size);
  const selfWaiting = new Float64Array(size);
  const total = new Float64Array(size);
  const totalWaiting = new Float64Array(size);
  const samples = new Float64Array(size);
  const seen = new Uint8Array(size);
  const outer = outermostOfAll(tree);
  for (let i = 0; i < tree.size; i++) {
    if (!tree.totalSamples[i]) continue;
    const fn = tree.fn[i];
    seen[fn] = 1;
    self[fn] += tree.self[i];
    selfWaiting[fn] += tree.selfWaiting[i];
    samples[fn] += tree.samples[i];
    if (!outer[i]) continue;
    total[fn] += tree.total[i];
    totalWaiting[fn] += tree.totalWaiting[i];
  }
  const rows: FlatRow[] = [];
  for (let fn = 0; fn < size; fn++) {
    if (!seen[fn]) continue;
    rows.push({
      fn,
      self: self[fn],
      total: total[fn],
      samples: samples[fn],
      selfWaiting: selfWaiting[fn],
      totalWaiting: totalWaiting[fn],
    });
  }
  return rows.sort(
    (a, b) => b.self - a.self || b.total - a.total || a.fn - b.fn,
  );
}

/** Which nodes have no ancestor of the same function: summing these counts recursion once. */
export function outermostOfAll(shape: Shape): Uint8Array {
  const known = OUTER.get(shape.parent);
  if (known) return known;
  const outer = new Uint8Array(shape.size);
  const open = new Map<number, number>();
  // A stack of our own: recorded stacks are deeper than the browser's may go. ~i leaves node i.
  const work: number[] = [];
  const enter = (at: number) => {
    for (let k = shape.first[at]; k < shape.first[at + 1]; k++)
      work.push(shape.child[k]);
  };
  enter(shape.size);
  while (work.length) {
    const at = work.pop()!;
    if (at < 0) {
      open.set(shape.fn[~at], open.get(shape.fn[~at])! - 1);
      continue;
    }
    const above = open.get(shape.fn[at]) ?? 0;
    if (!above) outer[at] = 1;
    open.set(shape.fn[at], above + 1);
    work.push(~at);
    enter(at);
  }
  OUTER.set(shape.parent, outer);
  return outer;
}

/** Nodes of flagged functions that are below none such, and their time together. */
export function matchTotals(
  tree: Tree,
  flags: Uint8Array,
): { time: number; nodes: number } {
  const below = new Uint8Array(tree.size);
  let time = 0;
  let nodes = 0;
  for (let i = 0; i < tree.size; i++) {
    const above = tree.parent[i];
    const covered = above >= 0 && below[above] === 1;
    const hit = flags[tree.fn[i]] === 1;
    if (covered || hit) below[i] = 1;
    if (hit && tree.totalSamples[i]) nodes++;
    if (hit && !covered) time += tree.total[i];
  }
  return { time, nodes };
}
