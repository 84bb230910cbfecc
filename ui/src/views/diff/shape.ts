/** The union of two trees as the flame graph draws trees: as wide as both together. */
import type { Tree } from "../../profile/profile";
import type { Union } from "./union";

/** Times of both in the unit they are compared in: nanoseconds, or shares of all. */
export interface Scale {
  base: (ns: number) => number;
  fresh: (ns: number) => number;
}

/** A share is counted in thousand millionths, so that it is no smaller than a nanosecond. */
export const SHARE = 1e9;

export function scaleUnion(union: Union, shares: boolean): Scale {
  if (!shares) return { base: (ns) => ns, fresh: (ns) => ns };
  const by = (all: number) => (ns: number) =>
    all > 0 ? (ns / all) * SHARE : 0;
  return { base: by(union.base.all), fresh: by(union.fresh.all) };
}

export function asTree(union: Union, scale: Scale): Tree {
  const { size, parent, depth, fn } = union;
  const both = (base: Float64Array, fresh: Float64Array) =>
    base.map((ns, i) => scale.base(ns) + scale.fresh(fresh[i]!));
  const first = new Int32Array(size + 2);
  const place = (i: number) => (parent[i]! < 0 ? size : parent[i]!);
  for (let i = 0; i < size; i++) first[place(i) + 1]!++;
  for (let i = 0; i <= size; i++) first[i + 1]! += first[i]!;
  const next = first.slice();
  const child = new Int32Array(size);
  for (let i = 0; i < size; i++) child[next[place(i)]!++] = i;
  const total = both(union.base.total, union.fresh.total);
  const nothing = new Float64Array(size);
  const there = total.map((time) => (time > 0 ? 1 : 0));
  return {
    parent,
    depth,
    fn,
    line: new Int32Array(size),
    node: new Int32Array(0),
    first,
    child,
    size,
    self: both(union.base.self, union.fresh.self),
    total,
    selfWaiting: nothing,
    totalWaiting: nothing,
    samples: there,
    totalSamples: there,
  };
}
