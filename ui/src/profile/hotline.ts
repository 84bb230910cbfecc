/** Of a frame that merges several lines, the one that has most of its time. */

import type { Profile, Tree } from "./profile";

export interface HotLine {
  readonly line: number;
  /** Nanoseconds in this line and in what it called. */
  readonly ns: number;
}

/** null: the tree is not by function, or the function has no lines. */
export function hottestLine(
  profile: Profile,
  tree: Tree,
  node: number,
): HotLine | null {
  if (tree !== profile.tree(true)) return null;
  const split = profile.tree(false);
  const counted = new Set<number>();
  const lines = new Map<number, number>();
  const { first, context } = contextsOf(tree);
  for (let k = first[node]; k < first[node + 1]; k++) {
    const at = split.node[context[k]];
    if (at < 0 || counted.has(at)) continue;
    counted.add(at);
    const line = split.line[at];
    lines.set(line, (lines.get(line) ?? 0) + split.total[at]);
  }
  let found: HotLine | null = null;
  for (const [line, ns] of lines) {
    if (line > 0 && (!found || ns > found.ns)) found = { line, ns };
  }
  return found;
}

/** The contexts of node i are `context[first[i] .. first[i + 1]]`. */
interface ByNode {
  readonly first: Int32Array;
  readonly context: Int32Array;
}

const KNOWN = new WeakMap<Int32Array, ByNode>();

function contextsOf({ node, size }: Tree): ByNode {
  let found = KNOWN.get(node);
  if (!found) {
    const first = new Int32Array(size + 1);
    for (const at of node) if (at >= 0) first[at + 1]++;
    for (let i = 0; i < size; i++) first[i + 1] += first[i];
    const next = first.slice();
    const context = new Int32Array(first[size]);
    node.forEach((at, i) => {
      if (at >= 0) context[next[at]++] = i;
    });
    KNOWN.set(node, (found = { first, context }));
  }
  return found;
}
