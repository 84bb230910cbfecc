/** The tree of dominators in the form that the icicle draws: bytes in the place of time. */

import type { Tree } from "../profile/profile";
import type { DominatorRow } from "./load";

export interface DominatorTree extends Tree {
  /** By node. */
  readonly rows: readonly DominatorRow[];
}

export function dominatorTree(roots: readonly DominatorRow[]): DominatorTree {
  const rows: DominatorRow[] = [];
  const parents: number[] = [];
  const depths: number[] = [];
  // Level by level: parents come before their children, and these lie side by side.
  let level = roots.map((row) => ({ row, parent: -1 }));
  for (let depth = 0; level.length; depth++) {
    const next: typeof level = [];
    for (const { row, parent } of level) {
      const node = rows.push(row) - 1;
      parents.push(parent);
      depths.push(depth);
      for (const child of row.children) next.push({ row: child, parent: node });
    }
    level = next;
  }
  const size = rows.length;
  const parent = Int32Array.from(parents);
  const first = new Int32Array(size + 2);
  const child = new Int32Array(size);
  let at = 0;
  // As nodes are numbered level by level, the children of each are in order already.
  const below: number[][] = Array.from({ length: size + 1 }, () => []);
  parent.forEach((up, node) => below[up < 0 ? size : up].push(node));
  below.forEach((children, node) => {
    first[node] = at;
    for (const one of children) child[at++] = one;
  });
  first[size + 1] = at;
  const total = Float64Array.from(rows, (row) => row.retained);
  const self = total.slice();
  parent.forEach((up, node) => {
    if (up >= 0) self[up] -= total[node];
  });
  const none = new Float64Array(size);
  const numbers = Int32Array.from(rows, (_, node) => node);
  const samples = Float64Array.from(rows, (row) => row.count);
  return {
    rows,
    parent,
    depth: Int32Array.from(depths),
    fn: numbers,
    line: new Int32Array(size),
    node: numbers,
    first,
    child,
    size,
    self,
    total,
    selfWaiting: none,
    totalWaiting: none,
    samples,
    totalSamples: samples,
  };
}
