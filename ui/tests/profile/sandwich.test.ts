import { expect, test } from "vitest";
import { synthetic, type Changes } from "../../src/data/synthetic";
import { flat, matchTotals } from "../../src/profile/flat";
import { hottestLine } from "../../src/profile/hotline";
import {
  heaviestChildren,
  Profiler,
  type Tree,
} from "../../src/profile/profile";
import { callees, callers } from "../../src/profile/sandwich";
import { search } from "../../src/profile/search";
import { EVERYTHING } from "../../src/profile/selection";
import { hotPath, visibleRows } from "../../src/views/tree/visiblerows";

const MS = 1_000_000;

async function made(changes: Changes = {}) {
  const recording = synthetic(changes);
  const profiler = new Profiler(recording, await recording.samples());
  const profile = profiler.profile({ ...EVERYTHING, time: "running" });
  const number = (name: string) =>
    profile.functions.findIndex((fn) => fn.name === name);
  const below = (tree: Tree, node: number) =>
    heaviestChildren(tree, node).map((child) => [
      profile.functions[tree.fn[child]].name,
      tree.total[child] / MS,
    ]);
  return { profile, number, below };
}

test("callers and callees add up to the function's total", async () => {
  const { profile } = await made();
  for (const row of flat(profile)) {
    const sum = (tree: Tree) =>
      heaviestChildren(tree, -1).reduce(
        (total, root) => total + tree.total[root],
        0,
      );
    expect(sum(callers(profile.tree(true), row.fn))).toBe(row.total);
    expect(sum(callees(profile.tree(true), row.fn))).toBe(row.total);
  }
});

test("a function called from two places has both as callers", async () => {
  const { profile, number, below } = await made();
  const tree = callers(profile.tree(true), number("work"));
  const [root] = heaviestChildren(tree, -1);
  expect(below(tree, root)).toEqual([
    ["Thread._bootstrap", 75],
    ["main", 60],
  ]);
});

test("a recursive function is no caller of itself, but calls itself", async () => {
  const { profile, number, below } = await made();
  const fib = number("fib");
  const up = callers(profile.tree(true), fib);
  const [above] = heaviestChildren(up, -1);
  expect(up.total[above]).toBe(40 * MS);
  expect(below(up, above)).toEqual([["work", 40]]);
  const down = callees(profile.tree(true), fib);
  const [root] = heaviestChildren(down, -1);
  expect(down.self[root]).toBe(10 * MS);
  expect(below(down, root)).toEqual([["fib", 30]]);
});

test("mutual recursion is counted once", async () => {
  // main > a > b > a > b, the time in the innermost
  const fn = (name: string, line: number) => ({
    name,
    file: "/x.py",
    line,
    runtime: "cpython",
    module: "x",
  });
  const { profile, number, below } = await made({
    functions: [fn("main", 1), fn("a", 2), fn("b", 3)],
    contexts: [
      [-1, 0, 1],
      [0, 1, 2],
      [1, 2, 3],
      [2, 1, 2],
      [3, 2, 3],
    ],
    samples: [
      [0, 10, 4, 10, 0],
      [0, 20, 2, 10, 0],
    ],
  });
  const totals = flat(profile).map((row) => [
    profile.functions[row.fn].name,
    row.self / MS,
    row.total / MS,
  ]);
  expect(totals).toEqual([
    ["b", 20, 20],
    ["main", 0, 20],
    ["a", 0, 20],
  ]);
  const up = callers(profile.tree(true), number("b"));
  expect(below(up, heaviestChildren(up, -1)[0])).toEqual([["a", 20]]);
});

test("the share of a search counts nested matches once", async () => {
  const { profile } = await made();
  const flags = search(profile.functions, "WORK.py")!;
  const { time, nodes } = matchTotals(profile.tree(true), flags);
  expect(time).toBe(135 * MS);
  expect(nodes).toBe(5);
  expect(search(profile.functions, "  ")).toBeNull();
});

test("the hot path goes on while one child has most of the time", async () => {
  const { profile } = await made();
  const tree = profile.tree(true);
  const names = hotPath(tree, -1).map(
    (node) => profile.functions[tree.fn[node]].name,
  );
  expect(names).toEqual(["Thread._bootstrap", "work", "Cache.get"]);
  const rows = visibleRows(tree, new Set(hotPath(tree, -1)));
  expect(rows.map((row) => row.depth)).toEqual([0, 1, 2, 0, 0]);
});

test("of a frame of several lines the one that has most of its time", async () => {
  const { profile, number } = await made();
  const tree = profile.tree(true);
  const works = Array.from(tree.fn.keys()).filter(
    (node) => tree.fn[node] === number("work"),
  );
  // Called by main: line 6 with fib below it, and line 7 alone.
  expect(hottestLine(profile, tree, works[0])).toEqual({
    line: 6,
    ns: 50 * MS,
  });
  expect(hottestLine(profile, profile.tree(false), 0)).toBeNull();
});
