/** Of a frame that stands for several lines, the one that has most of its time. */

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
  for (let context = 0; context < tree.node.length; context++) {
    if (tree.node[context] !== node) continue;
    const at = split.node[context];
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
