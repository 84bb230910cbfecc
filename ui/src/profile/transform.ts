/** Focus, hide and collapse: the tree with some functions looked at differently. */

import { merged, type Shape } from "./shape";

/** Functions by their number in the list of distinct ones. */
export interface Changes {
  /** Only stacks through this function, with it as root; one after the other. */
  readonly focus: readonly number[];
  /** Without what was spent in this function and below it. */
  readonly hide: readonly number[];
  /** A call of this function below itself is shown as the outermost one. */
  readonly collapse: readonly number[];
}

export const NO_CHANGES: Changes = { focus: [], hide: [], collapse: [] };

export function transformed(shape: Shape, changes: Changes): Shape {
  let found = shape;
  for (const fn of changes.hide) found = composed(found, hidden(found, fn));
  for (const fn of changes.collapse)
    found = composed(found, collapsed(found, fn));
  for (const fn of changes.focus) found = composed(found, focused(found, fn));
  return found;
}

function hidden(shape: Shape, fn: number): Shape {
  const gone = new Uint8Array(shape.size);
  for (let i = 0; i < shape.size; i++) {
    const above = shape.parent[i];
    if (shape.fn[i] === fn || (above >= 0 && gone[above])) gone[i] = 1;
  }
  return merged({ ...shape, gone });
}

function collapsed(shape: Shape, fn: number): Shape {
  const outer = outermost(shape, fn);
  const same = new Int32Array(shape.size).fill(-1);
  for (let i = 0; i < shape.size; i++) {
    if (shape.fn[i] === fn && outer[i] !== i) same[i] = outer[i];
  }
  return merged({ ...shape, same });
}

/** Only the stacks through this function, with its outermost frame as root. */
function focused(shape: Shape, fn: number): Shape {
  const outer = outermost(shape, fn);
  const gone = new Uint8Array(shape.size);
  const parent = shape.parent.slice();
  for (let i = 0; i < shape.size; i++) {
    if (outer[i] < 0) gone[i] = 1;
    else if (outer[i] === i) parent[i] = -1;
  }
  return merged({ ...shape, parent, gone });
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
function composed(first: Shape, second: Shape): Shape {
  const node = first.node.map((at) => (at < 0 ? -1 : second.node[at]));
  return { ...second, node };
}
