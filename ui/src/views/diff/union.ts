/** Two calling context trees laid over each other: one node for what is equivalent. */
import type { Fn } from "../../data/recording";
import type { Profile, Tree } from "../../profile/profile";
import { matchFunctions } from "./functionmatch";

export interface Union {
  /** Parents come before their children; -1: a root. */
  parent: Int32Array;
  depth: Int32Array;
  /** In `functions`. */
  fn: Int32Array;
  functions: Fn[];
  /** Nanoseconds of the node itself, and with all below it, in both. */
  base: Times;
  fresh: Times;
  size: number;
}

export interface Times {
  self: Float64Array;
  total: Float64Array;
  /** All that was measured. */
  all: number;
}

/** A function's times in both; `delta` is of its self time. */
export interface Row {
  fn: number;
  base: number;
  fresh: number;
  delta: number;
  /** With all it called, recursion counted once. */
  baseTotal: number;
  freshTotal: number;
}

export function union(base: Profile, fresh: Profile): Union {
  const { functions, ofBase, ofFresh } = matchFunctions(
    base.functions,
    fresh.functions,
  );
  const builder = new UnionBuilder(functions.length);
  builder.add(base.tree(true), ofBase, 0);
  builder.add(fresh.tree(true), ofFresh, 1);
  return builder.build(functions);
}

class UnionBuilder {
  private readonly parent: number[] = [];
  private readonly depth: number[] = [];
  private readonly fn: number[] = [];
  private readonly self: [number[], number[]] = [[], []];
  private readonly total: [number[], number[]] = [[], []];
  private readonly children = new Map<number, number>();

  constructor(private readonly functions: number) {}

  add(tree: Tree, functions: Int32Array, side: 0 | 1): void {
    const node = new Int32Array(tree.size).fill(-1);
    for (let i = 0; i < tree.size; i++) {
      if (!tree.totalSamples[i]) continue;
      const above = tree.parent[i]! < 0 ? -1 : node[tree.parent[i]!]!;
      const at = (node[i] = this.child(above, functions[tree.fn[i]!]!));
      // Siblings that differ in one recording may be the same for both.
      this.self[side][at]! += tree.self[i]!;
      this.total[side][at]! += tree.total[i]!;
    }
  }

  private child(above: number, fn: number): number {
    const key = (above + 1) * this.functions + fn;
    const known = this.children.get(key);
    if (known !== undefined) return known;
    this.children.set(key, this.fn.length);
    this.parent.push(above);
    this.depth.push(above < 0 ? 0 : this.depth[above]! + 1);
    for (const column of [...this.self, ...this.total]) column.push(0);
    return this.fn.push(fn) - 1;
  }

  build(functions: Fn[]): Union {
    const [base, fresh] = ([0, 1] as const).map((side) => {
      const self = Float64Array.from(this.self[side]);
      return {
        self,
        total: Float64Array.from(this.total[side]),
        all: self.reduce((a, b) => a + b, 0),
      };
    }) as [Times, Times];
    return {
      parent: Int32Array.from(this.parent),
      depth: Int32Array.from(this.depth),
      fn: Int32Array.from(this.fn),
      functions,
      base,
      fresh,
      size: this.fn.length,
    };
  }
}

const ROWS = new WeakMap<Union, Row[]>();

/** By function, the greatest change first. */
export function rows(union: Union): Row[] {
  let found = ROWS.get(union);
  if (!found) ROWS.set(union, (found = countRows(union)));
  return found;
}

function countRows(union: Union): Row[] {
  const found = union.functions.map((_, fn): Row => {
    return { fn, base: 0, fresh: 0, delta: 0, baseTotal: 0, freshTotal: 0 };
  });
  const outer = outermost(union);
  for (let i = 0; i < union.size; i++) {
    const row = found[union.fn[i]!]!;
    row.base += union.base.self[i]!;
    row.fresh += union.fresh.self[i]!;
    if (!outer[i]) continue;
    row.baseTotal += union.base.total[i]!;
    row.freshTotal += union.fresh.total[i]!;
  }
  for (const row of found) row.delta = row.fresh - row.base;
  return found
    .filter((row) => row.baseTotal || row.freshTotal)
    .sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta) || a.fn - b.fn);
}

/** Which nodes have no ancestor of the same function. */
function outermost(union: Union): Uint8Array {
  const found = new Uint8Array(union.size).fill(1);
  const first: number[][] = Array.from({ length: union.size + 1 }, () => []);
  for (let i = 0; i < union.size; i++) {
    first[union.parent[i]! < 0 ? union.size : union.parent[i]!]!.push(i);
  }
  const open = new Set<number>();
  // A node is pushed again, negated, to be left after all below it.
  const walk = [...first[union.size]!];
  for (let at = walk.pop(); at !== undefined; at = walk.pop()) {
    if (at < 0) {
      open.delete(union.fn[~at]!);
      continue;
    }
    if (open.has(union.fn[at]!)) found[at] = 0;
    else {
      open.add(union.fn[at]!);
      walk.push(~at);
    }
    walk.push(...first[at]!);
  }
  return found;
}
