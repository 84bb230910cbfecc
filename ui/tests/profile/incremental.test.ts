/** What is made quick by leaving work out gives what all the work would give. */

import { describe, expect, test } from "vitest";
import type { Waits } from "../../src/data/recording";
import { synthetic } from "../../src/data/synthetic";
import { Profiler, type Tree } from "../../src/profile/profile";
import { callees } from "../../src/profile/sandwich";
import {
  EVERYTHING,
  shiftSums,
  SampleIndex,
  sumSamples,
  type Selection,
} from "../../src/profile/selection";
import { NO_CHANGES } from "../../src/profile/transform";
import { pairs } from "../../src/views/locks/pairs";
import { select } from "../../src/views/locks/parts";

/** Numbers that look random, but are the same every time. */
function drawing(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const THREADS = 3;
const SPAN = 2000;

function crowd(seed: number) {
  const draw = drawing(seed);
  const contexts = Array.from(
    { length: 60 },
    (_, i): [number, number, number] => [
      i < 3 ? -1 : draw(i),
      draw(7),
      draw(30),
    ],
  );
  const samples: [number, number, number, number, number][] = [];
  for (let thread = 0; thread < THREADS; thread++) {
    let time = 0;
    while (time < SPAN) {
      // Waits may reach over many samples, and over the range as a whole.
      const state = draw(3);
      time += 1 + draw(20);
      const weight = state ? draw(draw(9) ? 15 : 900) : draw(12);
      samples.push([thread, time, draw(61) - 1, weight, state]);
    }
  }
  return synthetic({ contexts, samples });
}

describe("a range that moves", () => {
  const MS = 1_000_000;

  test.each(["running", "waiting", "wall"] as const)("%s", async (time) => {
    for (let seed = 1; seed <= 5; seed++) {
      const recording = crowd(seed);
      const sampleIndex = new SampleIndex(await recording.samples());
      const draw = drawing(seed);
      const threads = seed % 2 ? null : [0, 2];
      let selection: Selection = {
        ...EVERYTHING,
        time,
        threads,
        from: 500 * MS,
        to: 900 * MS,
      };
      let sums = sumSamples(recording, sampleIndex, selection);
      let steps = 0;
      for (let i = 0; i < 60; i++) {
        const by = () => (draw(200) - 100) * MS + draw(3) - 1;
        const from = Math.max(0, selection.from! + (i % 3 ? by() : 0));
        const to = Math.max(from + 1, selection.to! + (i % 3 !== 1 ? by() : 0));
        const next = { ...selection, from, to };
        const quick = shiftSums(
          recording,
          sampleIndex,
          { selection, sums },
          next,
        );
        const whole = sumSamples(recording, sampleIndex, next);
        if (quick) {
          steps++;
          expect(quick).toEqual(whole);
        }
        selection = next;
        sums = quick ?? whole;
      }
      expect(steps).toBeGreaterThan(20);
    }
  });

  test("is not followed from another choice, or from far away", async () => {
    const recording = crowd(1);
    const sampleIndex = new SampleIndex(await recording.samples());
    const selection: Selection = { ...EVERYTHING, from: 100, to: 200 };
    const before = {
      selection,
      sums: sumSamples(recording, sampleIndex, selection),
    };
    const near = { ...selection, to: 210 };
    const go = (next: Selection) =>
      shiftSums(recording, sampleIndex, before, next);
    expect(go(near)).not.toBeNull();
    expect(go({ ...near, time: "running" })).toBeNull();
    expect(go({ ...near, threads: [1] })).toBeNull();
    expect(go({ ...near, processes: [0] })).toBeNull();
    expect(go({ ...near, span: 0 })).toBeNull();
    expect(go({ ...near, to: null })).toBeNull();
    expect(go({ ...near, from: 1000, to: 1100 })).toBeNull();
  });

  test("an earlier profile keeps its own times", async () => {
    const recording = crowd(2);
    const samples = await recording.samples();
    const profiler = new Profiler(recording, samples);
    const selection: Selection = {
      ...EVERYTHING,
      from: 200 * MS,
      to: 900 * MS,
    };
    const early = profiler.profile(selection);
    profiler.profile({ ...selection, to: 950 * MS });
    const alone = new Profiler(recording, samples).profile(selection);
    expect(early.tree(true).self).toEqual(alone.tree(true).self);
  });
});

describe("what a function called", () => {
  /** Times by the way of functions from the root. */
  function ways(tree: Tree): Record<string, number[]> {
    const names: string[] = [];
    const found: Record<string, number[]> = {};
    for (let i = 0; i < tree.size; i++) {
      const above = tree.parent[i];
      names[i] = `${above < 0 ? "" : names[above]}/${tree.fn[i]}`;
      const times = [
        tree.self[i],
        tree.total[i],
        tree.totalWaiting[i],
        tree.totalSamples[i],
      ];
      expect(found[names[i]]).toBeUndefined();
      found[names[i]] = times;
    }
    return found;
  }

  test("is what the focus on it shows", async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const recording = crowd(seed);
      const profiler = new Profiler(recording, await recording.samples());
      const tree = profiler.profile(EVERYTHING).tree(true);
      for (let fn = 0; fn < 7; fn++) {
        const changes = { ...NO_CHANGES, focus: [fn] };
        const focused = profiler.profile(EVERYTHING, changes).tree(true);
        expect(ways(callees(tree, fn))).toEqual(ways(focused));
      }
    }
  });
});

describe("waits", () => {
  const draw = drawing(7);
  const rows = Array.from({ length: 3000 }, (_, i) => {
    const start = i + draw(draw(10) ? 30 : 800);
    return [
      Math.floor(i / 3),
      draw(THREADS),
      start,
      start + draw(40),
      draw(2),
      1,
      draw(11),
      draw(12) - 1,
      0,
      0,
      0,
      0,
    ];
  });

  async function waits(): Promise<Waits> {
    return synthetic({ waits: rows }).waits();
  }

  test("of a range, found without looking at all", async () => {
    const all = await waits();
    const MS = 1_000_000;
    for (const [from, to] of [
      [0, 1e9],
      [100, 200],
      [2990, 5000],
      [1500, 1501],
    ] as const) {
      const found = select(all, Uint8Array.of(1, 0, 1), from * MS, to * MS);
      const expected = rows.flatMap(([, thread, start, end], row) =>
        thread !== 1 && end! > from && start! < to ? [row] : [],
      );
      expect([...found.rows]).toEqual(expected);
      for (const row of expected) {
        const [, , start, end] = rows[row]!;
        const inside = Math.min(end!, to) - Math.max(start!, from);
        expect(found.ns[row]).toBe(inside * MS);
      }
    }
  });

  test("the pairs of chains", async () => {
    const all = await waits();
    const parts = select(all, Uint8Array.of(1, 1, 1), null, null);
    const some = parts.rows.filter((row) => row % 5);
    const sums = new Map<string, { ns: number; most: number; row: number }>();
    for (const row of some) {
      const key = `${all.waiter[row]} ${all.owner[row]}`;
      const pair = sums.get(key) ?? { ns: 0, most: -1, row };
      const ns = parts.ns[row]!;
      pair.ns += ns;
      if (ns > pair.most) [pair.most, pair.row] = [ns, row];
      sums.set(key, pair);
    }
    const expected = [...sums]
      .map(([key, { ns, row }]) => `${key} ${ns} ${row}`)
      .sort();
    const found = pairs(all, parts, some);
    expect(
      found
        .map(({ waiter, owner, ns, row }) => `${waiter} ${owner} ${ns} ${row}`)
        .sort(),
    ).toEqual(expected);
    expect(found.map((pair) => pair.ns)).toEqual(
      found.map((pair) => pair.ns).sort((a, b) => b - a),
    );
  });
});
