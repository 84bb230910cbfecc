/**
 * The calling context tree as people read it: contexts of different processes or code objects
 * that read the same are one node (the recording comes so already, lines apart). It does not depend
 * on the filters, so it is made once.
 */

import type { Fn, Recording } from "../data/recording";

export const BUILT_IN = "<built-in>";
const UNDECODABLE = "[undecodable]";

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

/** Whether it is no function of the target but a name for frames that are unknown. */
export function isPlaceholder(fn: Fn): boolean {
  return fn.name.startsWith("[") && (fn.file === "" || fn.file === BUILT_IN);
}

/** The functions of a recording, and last the one of samples without a stack. */
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
  return mergeFrames({ parent, fn, line });
}

export interface Frames {
  readonly parent: Int32Array;
  readonly fn: Int32Array;
  readonly line: Int32Array;
  /** Left out (1), with no node of its own; nothing below it may be kept. */
  readonly removed?: Uint8Array;
  /** Takes the place of the frame with this number, which comes earlier; -1: of none. */
  readonly same?: Int32Array;
}

/** One node for all siblings of equal function and line, from the roots downwards. */
export function mergeFrames(frames: Frames): Shape {
  const count = frames.parent.length;
  const node = new Int32Array(count).fill(-1);
  const parent = new Int32Array(count);
  const fn = new Int32Array(count);
  const line = new Int32Array(count);
  let size = 0;
  // A hash table of nodes by parent, function and line: a Map of made-up keys takes five times as
  // long, and this is done again for every focus and every function looked at.
  const places = 2 ** Math.ceil(Math.log2(count * 2 + 2));
  const table = new Int32Array(places).fill(-1);
  for (let i = 0; i < count; i++) {
    if (frames.removed?.[i]) continue;
    const same = frames.same ? frames.same[i] : -1;
    if (same >= 0) {
      node[i] = node[same];
      continue;
    }
    const above = frames.parent[i] < 0 ? -1 : node[frames.parent[i]];
    const f = frames.fn[i];
    const l = frames.line[i];
    let mix = Math.imul(above + 1, 0x9e3779b1);
    mix = Math.imul(mix ^ (mix >>> 15) ^ f, 0x85ebca6b);
    mix = Math.imul(mix ^ (mix >>> 13) ^ l, 0xc2b2ae35);
    let at = (mix ^ (mix >>> 16)) & (places - 1);
    for (;;) {
      const found = table[at];
      if (found < 0) {
        table[at] = node[i] = size;
        parent[size] = above;
        fn[size] = f;
        line[size++] = l;
        break;
      }
      if (parent[found] === above && fn[found] === f && line[found] === l) {
        node[i] = found;
        break;
      }
      at = (at + 1) & (places - 1);
    }
  }
  return withChildren(parent.slice(0, size), {
    fn: fn.slice(0, size),
    line: line.slice(0, size),
    node,
  });
}

/** A shape of its parents, which must come before their children. */
function withChildren(
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
