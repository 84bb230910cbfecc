/** The tree of dominators as the icicle takes it. */

import { expect, test } from "vitest";
import { dominatorTree } from "../../src/heap/dominatortree";
import type { DominatorRow } from "../../src/heap/load";
import { heaviestChildren, path } from "../../src/profile/profile";

function row(
  type: string,
  retained: number,
  children: DominatorRow[] = [],
): DominatorRow {
  return {
    type,
    text: null,
    id: "0x1",
    count: 1,
    shallow: 8,
    retained,
    children,
  };
}

test("children are found, and what they leave is the object's own", () => {
  const tree = dominatorTree([
    row("a", 100, [row("b", 60, [row("c", 50)]), row("d", 30)]),
    row("e", 200),
  ]);
  const names = (nodes: number[]) => nodes.map((node) => tree.rows[node].type);
  expect(names(heaviestChildren(tree, -1))).toEqual(["e", "a"]);
  const a = heaviestChildren(tree, -1)[1];
  expect(names(heaviestChildren(tree, a))).toEqual(["b", "d"]);
  expect(tree.self[a]).toBe(10);
  const c = tree.rows.findIndex((one) => one.type === "c");
  expect(names(path(tree, c))).toEqual(["a", "b", "c"]);
  expect(tree.depth[c]).toBe(2);
});

test("an empty heap has no nodes", () => {
  expect(heaviestChildren(dominatorTree([]), -1)).toEqual([]);
});
