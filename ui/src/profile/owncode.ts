/** The program's own functions, and below each the library functions that it called. */

import type { Fn } from "../data/recording";
import { mergeFrames, type Shape } from "./shape";

/** The root of what no function of the program's own called; the last function of a profile. */
export const OUTSIDE: Fn = {
  name: "[no code of yours]",
  file: "",
  line: 0,
  runtime: "",
  module: "",
  own: true,
};

/** Whether the recording says which functions are the program's own, and has any. */
export function hasOwnCode(functions: readonly Fn[]): boolean {
  return functions.some((fn) => fn.own && fn !== OUTSIDE);
}

/**
 * A library function has all the time until it returns, or calls the program's own code. `functions`
 * ends with `OUTSIDE`.
 */
export function ownCode(shape: Shape, functions: readonly Fn[]): Shape {
  const size = shape.size + 1;
  const parent = new Int32Array(size).fill(-1);
  const fn = new Int32Array(size);
  const line = new Int32Array(size);
  const same = new Int32Array(size).fill(-1);
  const inside = new Uint8Array(size);
  // Frame 0 is the root of what has no own function above it; that of node i is i + 1.
  fn[0] = functions.length - 1;
  for (let i = 0; i < shape.size; i++) {
    const at = i + 1;
    const above = shape.parent[i] + 1;
    const own = functions[shape.fn[i]].own === true;
    fn[at] = shape.fn[i];
    line[at] = own ? shape.line[i] : functions[shape.fn[i]].line;
    inside[at] = own || (above > 0 && inside[above]) ? 1 : 0;
    if (own) parent[at] = above > 0 && inside[above] ? above : -1;
    else if (above === 0) parent[at] = 0;
    else if (functions[shape.fn[above - 1]].own === true) parent[at] = above;
    else same[at] = same[above] < 0 ? above : same[above];
  }
  const found = mergeFrames({ parent, fn, line, same });
  return { ...found, node: found.node.slice(1) };
}
