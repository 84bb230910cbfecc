import { describe, expect, test } from "vitest";
import type { Fn } from "../src/data/recording";
import { synthetic, type Changes } from "../src/data/synthetic";
import { EVERYTHING } from "../src/profile/choice";
import { Profiler } from "../src/profile/profile";
import {
  change,
  coverage,
  coverages,
  overlap,
} from "../src/views/diff/measures";
import { sameFunctions } from "../src/views/diff/same";
import { rows, union } from "../src/views/diff/union";

describe("overlap", () => {
  test("the same shares overlap wholly, whatever their scale", () => {
    expect(overlap([2, 3, 5], [20, 30, 50])).toBeCloseTo(1);
  });

  test("is the smaller share of each common edge", () => {
    // 0.2/0.5 + 0.8/0 + 0/0.5
    expect(overlap([2, 8, 0], [5, 0, 5])).toBeCloseTo(0.2);
    expect(overlap([1, 0], [0, 1])).toBe(0);
  });

  test("Hofer's figure 3.1 against a run without the call of u by b", () => {
    // a→b 1, b→c 1, a→u 2, b→u 1, u→v 1; six samples in all
    const base = [1, 1, 2, 1, 1];
    const fresh = [1, 1, 2, 0, 2];
    expect(overlap(base, fresh)).toBeCloseTo(5 / 6);
  });

  test("nothing overlaps with nothing", () => {
    expect(overlap([], [])).toBeNull();
    expect(overlap([1], [0])).toBeNull();
  });
});

describe("hot-edge coverage", () => {
  test("is of those within a tenth of the hottest, and not the same both ways", () => {
    const base = [100, 10, 9, 0];
    const fresh = [100, 1, 0, 50];
    // hot in the base: the first two; in the new one: the first and the last
    expect(coverages(base, fresh)).toEqual({
      threshold: 0.1,
      base_by_new: 0.5,
      new_by_base: 0.5,
    });
    expect(coverage([100, 60, 0], [100, 60, 30], 0.1)).toBeCloseTo(2 / 3);
    expect(coverage([100, 60, 30], [100, 60, 0], 0.1)).toBe(1);
  });

  test("edges that a tree does not have are never hot", () => {
    expect(coverage([0, 0], [0, 0], 0)).toBeNull();
    expect(coverage([5, 0], [5, 0], 0)).toBe(1);
  });
});

test("twice as slow is as strong as half as slow", () => {
  expect(change(10, 20)).toBe(0.5);
  expect(change(20, 10)).toBe(-0.5);
  expect(change(0, 7)).toBe(1);
  expect(change(7, 0)).toBe(-1);
  expect(change(0, 0)).toBe(0);
});

describe("the same functions", () => {
  const fn = (name: string, line: number, file = "a.py"): Fn => ({
    name,
    file,
    line,
    runtime: "cpython",
    module: "a",
  });

  test("a function that moved in its file is the same", () => {
    const same = sameFunctions([fn("f", 5)], [fn("g", 1), fn("f", 9)]);
    expect([...same.ofBase]).toEqual([1]);
    expect(same.functions[1]!.line).toBe(9);
  });

  test("of one name: by line, and else in order if there are as many", () => {
    const base = [fn("<lambda>", 3), fn("<lambda>", 8), fn("<lambda>", 20)];
    const fresh = [fn("<lambda>", 22), fn("<lambda>", 8), fn("<lambda>", 4)];
    expect([...sameFunctions(base, fresh).ofBase]).toEqual([2, 1, 0]);
    const more = [...fresh, fn("<lambda>", 30)];
    expect([...sameFunctions(base, more).ofBase]).toEqual([4, 1, 5]);
  });

  test("another file is another function", () => {
    const same = sameFunctions([fn("f", 5, "b.py")], [fn("f", 5)]);
    expect([...same.ofBase]).toEqual([1]);
  });
});

describe("two trees over each other", () => {
  async function profiled(changes: Changes = {}) {
    const recording = synthetic(changes);
    const profiler = new Profiler(recording, await recording.samples());
    return profiler.profile({ ...EVERYTHING, time: "running" });
  }

  test("a recording is the same as itself", async () => {
    const both = union(await profiled(), await profiled());
    expect([...both.base.total]).toEqual([...both.fresh.total]);
    expect(overlap(both.base.own, both.fresh.own)).toBeCloseTo(1);
    expect(coverages(both.base.own, both.fresh.own)).toMatchObject({
      base_by_new: 1,
      new_by_base: 1,
    });
    expect(rows(both).every((row) => row.delta === 0)).toBe(true);
  });

  test("what is gone and what is new both are there", async () => {
    const base = await profiled({ samples: [[0, 10, 2, 10, 0]] });
    const fresh = await profiled({
      samples: [
        [0, 10, 1, 4, 0],
        [1, 20, 9, 6, 0],
      ],
    });
    const both = union(base, fresh);
    const found = rows(both).map((row) => [
      both.functions[row.fn]!.name,
      row.base / 1e6,
      row.fresh / 1e6,
      row.delta / 1e6,
      row.baseTotal / 1e6,
      row.freshTotal / 1e6,
    ]);
    expect(found.slice(0, 3)).toEqual([
      ["work", 10, 0, -10, 10, 6],
      ["Cache.get", 0, 6, 6, 0, 6],
      ["main", 0, 4, 4, 10, 4],
    ]);
    expect(overlap(both.base.own, both.fresh.own)).toBe(0);
    expect(both.base.all).toBe(10e6);
  });

  test("totals count recursion once", async () => {
    const both = union(await profiled(), await profiled());
    const fib = rows(both).find(
      (row) => both.functions[row.fn]!.name === "fib",
    )!;
    expect([fib.base, fib.baseTotal]).toEqual([40e6, 40e6]);
  });
});
