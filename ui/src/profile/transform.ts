/** Focus, hide and collapse: the tree with some functions looked at differently. */

import type { Fn } from "../data/recording";
import { ownCode } from "./owncode";
import { mergeFrames, type Shape } from "./shape";

/** Functions by their number in the list of distinct ones. */
export interface Changes {
  /** Only stacks through this function, with it as root; one after the other. */
  readonly focus: readonly number[];
  /** Without what was spent in this function and below it. */
  readonly hide: readonly number[];
  /** A call of this function below itself is shown as the outermost one. */
  readonly collapse: readonly number[];
  /** Only the program's own functions, and what of libraries they call as one frame each. */
  readonly mine?: boolean;
}

export const NO_CHANGES: Changes = { focus: [], hide: [], collapse: [] };

export function transform(
  shape: Shape,
  changes: Changes,
  functions: readonly Fn[],
): Shape {
  let found = shape;
  if (changes.mine) found = compose(found, ownCode(found, functions));
  for (const fn of changes.hide)
    found = compose(found, hideFunction(found, fn));
  for (const fn of changes.collapse)
    found = compose(found, collapseRecursion(found, fn));
  for (const fn of changes.focus) found = compose(found, focusOn(found, fn));
  return found;
}

function hideFunction(shape: Shape, fn: number): Shape {
  const removed = new Uint8Array(shape.size);
  for (let i = 0; i < shape.size; i++) {
    const above = shape.parent[i];
    if (shape.fn[i] === fn || (above >= 0 && removed[above])) removed[i] = 1;
  }
  return mergeFrames({ ...shape, removed });
}

function collapseRecursion(shape: Shape, fn: number): Shape {
  const outer = outermost(shape, fn);
  const same = new Int32Array(shape.size).fill(-1);
  for (let i = 0; i < shape.size; i++) {
    if (shape.fn[i] === fn && outer[i] !== i) same[i] = outer[i];
  }
  return mergeFrames({ ...shape, same });
}

/** Only the stacks through this function, with its outermost frame as root. */
function focusOn(shape: Shape, fn: number): Shape {
  const outer = outermost(shape, fn);
  const removed = new Uint8Array(shape.size);
  const parent = shape.parent.slice();
  for (let i = 0; i < shape.size; i++) {
    if (outer[i] < 0) removed[i] = 1;
    else if (outer[i] === i) parent[i] = -1;
  }
  return mergeFrames({ ...shape, parent, removed });
}

/** For each node the outermost frame of the function that it is or is below of, else -1. */
function outermost(shape: Shape, fn: number): Int32Array {
  const outer = new Int32Array(shape.size).fill(-1);
  for (let i = 0; i < shape.size; i++) {
    const above = shape.parent[i];
    if (above >= 0 && outer[above] >= 0) outer[i] = outer[above];
    else if (shape.fn[i] === fn) outer[i] = i;
  }
  return outer;
}

/** The second shape was made of the first: contexts go to its nodes through the first's. */
function compose(first: Shape, second: Shape): Shape {
  const node = first.node.map((at) => (at < 0 ? -1 : second.node[at]));
  return { ...second, node };
}
