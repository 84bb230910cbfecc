import { describe, expect, test } from "vitest";
import type { Fn } from "../../src/data/recording";
import { synthetic, type Changes } from "../../src/data/synthetic";
import { Profiler } from "../../src/profile/profile";
import { heaviestChildren } from "../../src/profile/profile";
import { EVERYTHING } from "../../src/profile/selection";
import { START } from "../../src/shell/state";
import { mixColours, formatSigned } from "../../src/views/diff/colour";
import { matchFunctions } from "../../src/views/diff/functionmatch";
import {
  change,
  coverage,
  coverages,
  overlap,
} from "../../src/views/diff/measures";
import { asTree, scaleUnion, SHARE } from "../../src/views/diff/shape";
import { parseRange, sides, formatRange } from "../../src/views/diff/sides";
import { sortRows } from "../../src/views/diff/table";
import { rows, union } from "../../src/views/diff/union";

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
    const same = matchFunctions([fn("f", 5)], [fn("g", 1), fn("f", 9)]);
    expect([...same.ofBase]).toEqual([1]);
    expect(same.functions[1]!.line).toBe(9);
  });

  test("of one name: by line, and else in order if there are as many", () => {
    const base = [fn("<lambda>", 3), fn("<lambda>", 8), fn("<lambda>", 20)];
    const fresh = [fn("<lambda>", 22), fn("<lambda>", 8), fn("<lambda>", 4)];
    expect([...matchFunctions(base, fresh).ofBase]).toEqual([2, 1, 0]);
    const more = [...fresh, fn("<lambda>", 30)];
    expect([...matchFunctions(base, more).ofBase]).toEqual([4, 1, 5]);
  });

  test("another file is another function", () => {
    const same = matchFunctions([fn("f", 5, "b.py")], [fn("f", 5)]);
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
    expect(overlap(both.base.self, both.fresh.self)).toBeCloseTo(1);
    expect(coverages(both.base.self, both.fresh.self)).toMatchObject({
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
    expect(overlap(both.base.self, both.fresh.self)).toBe(0);
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

describe("what is compared", () => {
  const one = synthetic();
  const other = synthetic();

  test("two recordings, in either order", () => {
    const [base, fresh] = sides([one, other], START)!;
    expect([base.which, fresh.which]).toEqual([0, 1]);
    const swapped = sides([one, other], {
      ...START,
      settings: { "diff.swap": "1" },
    })!;
    expect(swapped.map((side) => side.which)).toEqual([1, 0]);
  });

  test("threads of the other recording are known by their names", () => {
    const found = sides([one, other], { ...START, threads: [1] })!;
    expect(found.map((side) => side.selection.threads)).toEqual([[1], [1, 2]]);
  });

  test("two ranges of one", () => {
    expect(sides([one], START)).toBeNull();
    const settings = { "diff.base": "0-50", "diff.new": "50-101" };
    const [base, fresh] = sides([one], { ...START, settings })!;
    expect([base.selection.from, base.selection.to]).toEqual([0, 50]);
    expect([fresh.selection.from, fresh.selection.to]).toEqual([50, 101]);
  });

  test("ranges in the address", () => {
    expect(parseRange(formatRange({ from: 3, to: 9 }))).toEqual({
      from: 3,
      to: 9,
    });
    for (const nonsense of ["9-3", "x", null, undefined]) {
      expect(parseRange(nonsense)).toBeNull();
    }
  });
});

describe("what is drawn", () => {
  async function both() {
    const profiled = async (changes: Changes) => {
      const recording = synthetic(changes);
      const profiler = new Profiler(recording, await recording.samples());
      return profiler.profile({ ...EVERYTHING, time: "running" });
    };
    return union(
      await profiled({ samples: [[0, 10, 2, 10, 0]] }),
      await profiled({
        samples: [
          [0, 10, 2, 30, 0],
          [0, 50, 6, 10, 0],
        ],
      }),
    );
  }

  test("a frame is as wide as both together", async () => {
    const found = await both();
    const tree = asTree(found, scaleUnion(found, false));
    const [root] = heaviestChildren(tree, -1);
    expect(tree.total[root!]).toBe(50e6);
    const [main] = heaviestChildren(tree, root!);
    expect(tree.total[main!]).toBe(50e6);
  });

  test("as shares, both count alike", async () => {
    const found = await both();
    const scale = scaleUnion(found, true);
    const tree = asTree(found, scale);
    const [root] = heaviestChildren(tree, -1);
    expect(tree.total[root!]).toBeCloseTo(2 * SHARE);
    const work = sortRows(found, scale, false)[0]!;
    expect(work.delta).toBeCloseTo(0);
    const slower = sortRows(found, scaleUnion(found, false), false)[0]!;
    expect(found.functions[slower.row.fn]!.name).toBe("work");
    expect(slower.delta).toBe(30e6);
  });

  test("changes have a sign", () => {
    expect(formatSigned(1.5e6, false)).toBe("+1.50 ms");
    expect(formatSigned(-2e9, false)).toBe("−2.00 s");
    expect(formatSigned(0, false)).toBe("±0");
    expect(formatSigned(SHARE / 4, true)).toBe("+25.00 %");
  });

  test("colours are mixed", () => {
    expect(mixColours("#ff0000", "#000000", 0.5)).toBe("rgb(128 0 0)");
  });
});
