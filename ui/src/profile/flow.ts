/** The call flow summed: by calling context, and by function. The same sums as in reports. */

import type { Flow, Recording } from "../data/recording";

/** Columns are by node; a parent's number is less than its children's. */
export interface FlowTree {
  /** -1: a root. */
  parent: Int32Array;
  depth: Int32Array;
  fn: Int32Array;
  numbers: FlowNumbers;
  children: Int32Array[];
  roots: number[];
  total: number;
}

/** By node, or by row. */
export interface FlowNumbers {
  calls: Float64Array;
  base: Float64Array;
  total: Float64Array;
  /** Calls that it made. */
  callees: Float64Array;
  recursion: Float64Array;
  exceptions: Float64Array;
  preexisting: Float64Array;
}

/** `fn` is the function of each row. */
export interface FlowRows {
  fn: number[];
  numbers: FlowNumbers;
}

/** `threads`: by thread, whether it counts. */
export function flowTree(
  { contexts }: Recording,
  flow: Flow,
  threads: ArrayLike<number | boolean>,
): FlowTree {
  const size = contexts.parent.length;
  const node = new Int32Array(size).fill(-1);
  for (let i = 0; i < flow.context.length; i++) {
    if (!threads[flow.thread[i]!]) continue;
    let at = flow.context[i]!;
    for (; at >= 0 && node[at]! < 0; at = contexts.parent[at]!) node[at] = 0;
  }
  let count = 0;
  for (let i = 0; i < size; i++) if (node[i] === 0) node[i] = count++;
  const parent = new Int32Array(count).fill(-1);
  const fn = new Int32Array(count);
  const depth = new Int32Array(count);
  for (let i = 0; i < size; i++) {
    const at = node[i]!;
    if (at < 0) continue;
    fn[at] = contexts.fn[i]!;
    const above = contexts.parent[i]!;
    if (above < 0) continue;
    parent[at] = node[above]!;
    depth[at] = depth[parent[at]!]! + 1;
  }
  const numbers = zeros(count);
  const { calls, base, total, callees, recursion } = numbers;
  for (let i = 0; i < flow.context.length; i++) {
    if (!threads[flow.thread[i]!]) continue;
    const at = node[flow.context[i]!]!;
    calls[at]! += flow.calls[i]!;
    numbers.exceptions[at]! += flow.exceptions[i]!;
    numbers.preexisting[at]! += flow.preexisting[i]!;
    base[at]! += flow.measured[i]! - flow.overhead[i]!;
  }
  for (let i = count - 1; i >= 0; i--) {
    if (base[i]! < 0) base[i] = 0;
    total[i]! += base[i]!;
    const above = parent[i]!;
    if (above < 0) continue;
    total[above]! += total[i]!;
    callees[above]! += calls[i]!;
  }
  const inner = isRecursive(parent, fn);
  for (let i = 0; i < count; i++) if (inner[i]) recursion[i] = calls[i]!;
  return { parent, depth, fn, numbers, ...family(parent), total: sum(base) };
}

/** One row per function that ran; what a recursive one called counts once in its total. */
export function flowRows(tree: FlowTree, functions: number): FlowRows {
  const { fn, numbers, parent } = tree;
  const inner = isRecursive(parent, fn);
  const by = zeros(functions);
  const seen = new Uint8Array(functions);
  for (let i = 0; i < fn.length; i++) {
    const at = fn[i]!;
    seen[at] = 1;
    for (const key of KEYS)
      if (key !== "total" || !inner[i]) by[key][at]! += numbers[key][i]!;
  }
  const rows = [...seen.keys()].filter((at) => seen[at]);
  const found = zeros(rows.length);
  for (const key of KEYS)
    rows.forEach((at, i) => (found[key][i] = by[key][at]!));
  return { fn: rows, numbers: found };
}

const KEYS = [
  "calls",
  "base",
  "total",
  "callees",
  "recursion",
  "exceptions",
  "preexisting",
] as const satisfies readonly (keyof FlowNumbers)[];

function zeros(size: number): FlowNumbers {
  return Object.fromEntries(
    KEYS.map((key) => [key, new Float64Array(size)]),
  ) as unknown as FlowNumbers;
}

function sum(values: Float64Array): number {
  let found = 0;
  for (const value of values) found += value;
  return found;
}

function family(parent: Int32Array): Pick<FlowTree, "children" | "roots"> {
  const lists: number[][] = Array.from({ length: parent.length }, () => []);
  const roots: number[] = [];
  parent.forEach((above, i) => (above < 0 ? roots : lists[above]!).push(i));
  return { children: lists.map((list) => Int32Array.from(list)), roots };
}

/** Which nodes have an ancestor of the same function. */
function isRecursive(parent: Int32Array, fn: Int32Array): Uint8Array {
  const found = new Uint8Array(parent.length);
  const children = family(parent);
  const active = new Map<number, number>();
  // The path from a root to a node, walked without recursion: stacks may be deep.
  const work = children.roots.map((node) => [node, 0] as [number, number]);
  while (work.length) {
    const top = work[work.length - 1]!;
    const [node, next] = top;
    const key = fn[node]!;
    if (next === 0) {
      const above = active.get(key) ?? 0;
      if (above) found[node] = 1;
      active.set(key, above + 1);
    }
    const child = children.children[node]![next];
    if (child === undefined) {
      active.set(key, active.get(key)! - 1);
      work.pop();
    } else {
      top[1]++;
      work.push([child, 0]);
    }
  }
  return found;
}
