/**
 * How similar two calling context trees are, as Hofer defines it (thesis, 3.4.2 and figures 3.16
 * and 3.17, after Zhuang 2006). All formulas of the diff are in this file.
 *
 * Trees have a node for each function and path of callers; lines do not count. Nodes of two trees
 * are equivalent if they are of the same function and their parents are equivalent; edges if both
 * their ends are. So there is exactly one edge to each node, a root's coming from outside, and
 * an edge can be identified by the node it leads to.
 *
 *   weight(e)      time in which the callee itself was executing (self time of its node)
 *   relweight(e)   weight(e) / sum of all edges' weights in the tree
 *   overlap(A, B)  = sum over edges in both of min(relweight(e, A), relweight(e, B))
 *   hotset(A, T)   = edges with weight(e, A) >= T * weight of the hottest edge of A
 *   hotcover(A, B, T) = |hotset(A, T) ∩ hotset(B, T)| / |hotset(B, T)|:
 *                  the share of the hot edges of B that A finds hot, too
 *
 * Weights come as columns over the union of both trees, with 0 where a tree has no such edge. That
 * loses nothing: an edge of weight 0 adds nothing to an overlap, and is hot for no T above 0.
 */

export type Weights = ArrayLike<number>;

/** Hofer's threshold: an edge is hot if its weight is within a tenth of the hottest one's. */
export const HOT = 0.1;

/** From 0 (nothing in common) to 1 (the same edges with the same shares); null: a tree is empty. */
export function overlap(base: Weights, fresh: Weights): number | null {
  const all = [sum(base), sum(fresh)] as const;
  if (!all[0] || !all[1]) return null;
  let found = 0;
  for (let i = 0; i < base.length; i++) {
    found += Math.min(base[i]! / all[0], fresh[i]! / all[1]);
  }
  // The shares of a tree add up to 1 but for rounding.
  return Math.min(found, 1);
}

function isHot(weights: Weights, threshold: number): (edge: number) => boolean {
  let hottest = 0;
  for (let i = 0; i < weights.length; i++)
    hottest = Math.max(hottest, weights[i]!);
  const least = threshold * hottest;
  return (edge) => weights[edge]! > 0 && weights[edge]! >= least;
}

/** hotcover(by, of, T): the share of the hot edges of `of` that are hot in `by`; null: there are none. */
export function coverage(
  by: Weights,
  of: Weights,
  threshold = HOT,
): number | null {
  const [inBy, inOf] = [isHot(by, threshold), isHot(of, threshold)];
  let hot = 0;
  let covered = 0;
  for (let i = 0; i < of.length; i++) {
    if (!inOf(i)) continue;
    hot++;
    if (inBy(i)) covered++;
  }
  return hot ? covered / hot : null;
}

export interface Coverage {
  threshold: number;
  /** Of the hot edges of the base those that are hot in the new one. */
  base_by_new: number | null;
  new_by_base: number | null;
}

export function coverages(
  base: Weights,
  fresh: Weights,
  threshold = HOT,
): Coverage {
  return {
    threshold,
    base_by_new: coverage(fresh, base, threshold),
    new_by_base: coverage(base, fresh, threshold),
  };
}

/**
 * How a time changed, for colour: -1 (removed) over 0 (the same) to 1 (only there now), relative to
 * the larger one, so that twice as slow and half as slow are equally strong.
 */
export function change(base: number, fresh: number): number {
  const most = Math.max(base, fresh);
  return most > 0 ? (fresh - base) / most : 0;
}

export function sum(values: Weights): number {
  let found = 0;
  for (let i = 0; i < values.length; i++) found += values[i]!;
  return found;
}
