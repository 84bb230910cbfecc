/** Which rows of a tree are visible, with some of its nodes open. */

import { heaviestChildren, type Tree } from "../../profile/profile";

export interface VisibleRow {
  readonly node: number;
  readonly depth: number;
  readonly children: boolean;
}

/** The rows from top to bottom; the roots are always visible. */
export function visibleRows(
  tree: Tree,
  open: ReadonlySet<number>,
): VisibleRow[] {
  const rows: VisibleRow[] = [];
  const work = heaviestChildren(tree, -1).reverse();
  while (work.length) {
    const node = work.pop()!;
    const children = tree.totalSamples[node] > tree.samples[node];
    rows.push({ node, depth: tree.depth[node], children });
    if (children && open.has(node))
      work.push(...heaviestChildren(tree, node).reverse());
  }
  return rows;
}

/** From a node (-1: the heaviest root) along the heaviest child, while that has most of the time. */
export function hotPath(tree: Tree, from: number): number[] {
  const found: number[] = [];
  let at = from >= 0 ? from : (heaviestChildren(tree, -1)[0] ?? -1);
  while (at >= 0) {
    found.push(at);
    const next = heaviestChildren(tree, at)[0];
    // Below this the self time, or several children, are what is hot.
    if (next === undefined || tree.total[next] * 2 < tree.total[at]) break;
    at = next;
  }
  return found;
}

/** The ancestors of all nodes whose function is flagged, so that opening these shows them. */
export function ancestorsOf(
  tree: Tree,
  flags: Uint8Array,
  most: number,
): Set<number> {
  const hits: number[] = [];
  for (let i = 0; i < tree.size; i++) {
    if (tree.totalSamples[i] && flags[tree.fn[i]]) hits.push(i);
  }
  hits.sort((a, b) => tree.total[b] - tree.total[a]);
  const open = new Set<number>();
  for (const hit of hits.slice(0, most)) {
    for (
      let at = tree.parent[hit];
      at >= 0 && !open.has(at);
      at = tree.parent[at]
    ) {
      open.add(at);
    }
  }
  return open;
}
