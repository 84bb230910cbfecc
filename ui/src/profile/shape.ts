/**
 * The calling context tree as people read it: contexts of different processes or code objects
 * that read the same are one node (the recording comes so already, lines apart). It does not depend
 * on the filters, so it is made once.
 */

import type { Fn, Recording } from "../data/recording";

export const BUILT_IN = "<built-in>";
export const UNDECODABLE = "[undecodable]";

/** Nodes in an order in which parents come before their children. */
export interface Shape {
  readonly parent: Int32Array; // -1: a root
  readonly fn: Int32Array; // in functionsOf()
  readonly line: Int32Array;
  readonly depth: Int32Array;
  /** By context, and one place more for samples without one: its node, -1 if it has none. */
  readonly node: Int32Array;
  /** The children of node i are `child[first[i] .. first[i + 1]]`; of the roots those of size. */
  readonly first: Int32Array;
  readonly child: Int32Array;
  readonly size: number;
}

/** Whether it is no function of the target but a name for what could not be seen. */
export function standsIn(fn: Fn): boolean {
  return fn.name.startsWith("[") && (fn.file === "" || fn.file === BUILT_IN);
}

/** The functions of a recording, and last the one that stands for samples without a stack. */
export function functionsOf(recording: Recording): Fn[] {
  return [
    ...recording.functions,
    { name: UNDECODABLE, file: "", line: 0, runtime: "", module: "" },
  ];
}

/** The tree of all contexts; `mergeLines` makes one node per function and caller path. */
export function shapeOf(
  recording: Recording,
  functions: readonly Fn[],
  mergeLines: boolean,
): Shape {
  const { contexts } = recording;
  const size = contexts.parent.length + 1;
  const fn = new Int32Array(size);
  const line = new Int32Array(size);
  const parent = new Int32Array(size).fill(-1);
  parent.set(contexts.parent);
  for (let i = 0; i < size - 1; i++) {
    // A frame without a function reads like a stack that could not be decoded.
    fn[i] = contexts.fn[i] < 0 ? functions.length - 1 : contexts.fn[i];
    line[i] = mergeLines
      ? functions[fn[i]].line
      : Math.max(contexts.line[i], 0);
  }
  fn[size - 1] = functions.length - 1;
  return merged({ parent, fn, line });
}

export interface Frames {
  readonly parent: Int32Array;
  readonly fn: Int32Array;
  readonly line: Int32Array;
  /** Left out (1), with no node of its own; nothing below it may be kept. */
  readonly gone?: Uint8Array;
  /** Takes the place of the frame with this number, which comes earlier; -1: of none. */
  readonly same?: Int32Array;
}

/** One node for all siblings of equal function and line, from the roots downwards. */
export function merged(frames: Frames): Shape {
  const count = frames.parent.length;
  const node = new Int32Array(count).fill(-1);
  const parent: number[] = [];
  const fn: number[] = [];
  const line: number[] = [];
  const kinds = new Map<number, number>();
  const known = new Map<number, number>();
  for (let i = 0; i < count; i++) {
    if (frames.gone?.[i]) continue;
    const same = frames.same ? frames.same[i] : -1;
    if (same >= 0) {
      node[i] = node[same];
      continue;
    }
    const above = frames.parent[i] < 0 ? -1 : node[frames.parent[i]];
    const what = frames.fn[i] * 2 ** 24 + frames.line[i];
    let kind = kinds.get(what);
    if (kind === undefined) kinds.set(what, (kind = kinds.size));
    const key = (above + 1) * (count + 1) + kind;
    const found = known.get(key);
    if (found !== undefined) {
      node[i] = found;
      continue;
    }
    known.set(key, parent.length);
    node[i] = parent.length;
    parent.push(above);
    fn.push(frames.fn[i]);
    line.push(frames.line[i]);
  }
  return withChildren(Int32Array.from(parent), {
    fn: Int32Array.from(fn),
    line: Int32Array.from(line),
    node,
  });
}

/** A shape of its parents, which must come before their children. */
export function withChildren(
  parent: Int32Array,
  rest: Pick<Shape, "fn" | "line" | "node">,
): Shape {
  const size = parent.length;
  const first = new Int32Array(size + 2);
  const depth = new Int32Array(size);
  const place = (i: number) => (parent[i] < 0 ? size : parent[i]);
  for (let i = 0; i < size; i++) {
    first[place(i) + 1]++;
    depth[i] = parent[i] < 0 ? 0 : depth[parent[i]] + 1;
  }
  for (let i = 0; i <= size; i++) first[i + 1] += first[i];
  const next = first.slice();
  const child = new Int32Array(size);
  for (let i = 0; i < size; i++) child[next[place(i)]++] = i;
  return { parent, depth, first, child, size, ...rest };
}
