import { describe, expect, test } from "vitest";
import { AFTER_NOTIFICATION } from "../../src/data/recording";
import { ASPECTS, type Aspect, type Waits } from "../../src/data/recording";
import { synthetic } from "../../src/data/synthetic";
import { spanMask } from "../../src/profile/selection";
import {
  lengths,
  split,
  unknownTime,
  totalOf,
  type Group,
} from "../../src/views/locks/groups";
import { fillGaps, histogram, powerOf } from "../../src/views/locks/histogram";
import {
  aspectsOf,
  AspectColumns,
  DEFAULT_ASPECTS,
  isHeldIn,
  select,
  type Parts,
} from "../../src/views/locks/parts";

const MS = 1_000_000;
const recording = synthetic();
const ALL = Uint8Array.of(1, 1, 1);

async function grouped(
  by: Aspect[],
  from: number | null = null,
  to: number | null = null,
  threads = ALL,
) {
  const waits = await recording.waits();
  const columns = new AspectColumns(recording, waits);
  const parts = select(waits, threads, from, to);
  const level = (rows: Int32Array, depth: number): unknown[] =>
    depth === by.length
      ? []
      : split(waits, parts, rows, columns.values(by[depth]!)).map((group) => ({
          value: group.value,
          ms: group.wait_ns / MS,
          count: group.count,
          longest: group.max_ns / MS,
          ...(depth + 1 < by.length
            ? { children: level(group.rows, depth + 1) }
            : {}),
        }));
  return level(parts.rows, 0);
}

describe("the rows of the locks", () => {
  test("by lock: a wait with two owners is one wait", async () => {
    expect(await grouped(["lock"])).toEqual([
      { value: 1, ms: 41, count: 2, longest: 25 },
      { value: 2, ms: 30, count: 1, longest: 30 },
      { value: 0, ms: 4, count: 2, longest: 3 },
    ]);
  });

  test("by owner: it counts for both, with its time at each", async () => {
    expect(await grouped(["lock", "owner_thread"])).toContainEqual({
      value: 1,
      ms: 41,
      count: 2,
      longest: 25,
      children: [
        { value: 0, ms: 31, count: 2, longest: 16 },
        { value: 2, ms: 10, count: 1, longest: 10 },
      ],
    });
  });

  test("an owner that is not known is a row of its own", async () => {
    expect(await grouped(["owner_chain"])).toContainEqual({
      value: -1,
      ms: 1,
      count: 1,
      longest: 1,
    });
  });

  test("in a range of time each wait counts as far as it lies inside", async () => {
    expect(await grouped(["lock"], 25 * MS, 45 * MS)).toEqual([
      { value: 1, ms: 26, count: 2, longest: 15 },
      { value: 2, ms: 5, count: 1, longest: 5 },
    ]);
  });

  test("of some threads: those that wait", async () => {
    const found = await grouped(["lock"], null, null, Uint8Array.of(0, 0, 1));
    expect(found).toEqual([
      { value: 1, ms: 16, count: 1, longest: 16 },
      { value: 0, ms: 4, count: 2, longest: 3 },
    ]);
  });

  test("every order adds up to the same", async () => {
    const waits = await recording.waits();
    const columns = new AspectColumns(recording, waits);
    const parts = select(waits, ALL, null, null);
    for (const aspect of ASPECTS.filter((aspect) => !isHeldIn(aspect))) {
      const groups = split(waits, parts, parts.rows, columns.values(aspect));
      const total = groups.reduce((sum, group) => sum + group.wait_ns, 0);
      expect(total, aspect).toBe(75 * MS);
    }
    expect(unknownTime(waits, parts)).toBe(MS);
    expect(totalOf(waits, parts)).toMatchObject({
      wait_ns: 75 * MS,
      signalling_ns: 30 * MS,
      count: 5,
      max_ns: 30 * MS,
    });
  });

  test("two threads of one name are two, two rows of one thread are one", async () => {
    const threads = recording.threads.map((thread) => ({ ...thread }));
    threads[2] = { ...threads[1]! };
    const twice = new AspectColumns(
      synthetic({ threads }),
      await recording.waits(),
    );
    expect([...twice.values("waiter_thread")]).toEqual([1, 1, 1, 0, 1, 1]);
    const apart = new AspectColumns(recording, await recording.waits());
    expect([...apart.values("waiter_thread")]).toEqual([1, 1, 2, 0, 2, 2]);
  });

  test("many waits: the same as counting one by one", () => {
    const { waits, parts } = random(5000);
    for (const values of [waits.lock, waits.ownerThread]) {
      const groups = split(waits, parts, parts.rows, values);
      expect(groups.map(plain)).toEqual(slowly(waits, parts, values));
    }
  });
});

test("a list of aspects from the address", () => {
  expect(aspectsOf("lock,owner_chain")).toEqual(["lock", "owner_chain"]);
  expect(aspectsOf("lock,lock,nonsense,kind")).toEqual(["lock", "kind"]);
  expect(aspectsOf("")).toEqual(DEFAULT_ASPECTS);
  expect(aspectsOf(null)).toEqual(DEFAULT_ASPECTS);
  expect(aspectsOf("lock,held_in_chain,kind")).toEqual([
    "lock",
    "held_in_chain",
  ]);
});

describe("the histogram", () => {
  test("powers of two that a length does not exceed", () => {
    expect([0, 1, 2, 3, 4, 5, 8, 9].map(powerOf)).toEqual([
      0, 0, 1, 2, 2, 3, 3, 4,
    ]);
    for (const power of [10, 29, 31, 32, 40, 48]) {
      expect(powerOf(2 ** power)).toBe(power);
      expect(powerOf(2 ** power + 1)).toBe(power + 1);
      expect(powerOf(2 ** power - 1)).toBe(power);
    }
  });

  test("of a row: waits by their length in that row", async () => {
    const waits = await recording.waits();
    const parts = select(waits, ALL, null, null);
    const found = lengths(waits, parts, Int32Array.of(0, 1, 2));
    expect([...found]).toEqual([25 * MS, 16 * MS]);
    expect(histogram(found)).toEqual([
      { upper: 2 ** 24, count: 1, ns: 16 * MS },
      { upper: 2 ** 25, count: 1, ns: 25 * MS },
    ]);
  });

  test("an axis has no holes", () => {
    const found = histogram(Float64Array.of(1, 9, 9, 100));
    expect(fillGaps(found).map(({ upper, count }) => [upper, count])).toEqual([
      [1, 1],
      [2, 0],
      [4, 0],
      [8, 0],
      [16, 2],
      [32, 0],
      [64, 0],
      [128, 1],
    ]);
    expect(fillGaps([])).toEqual([]);
  });
});

function random(size: number): { waits: Waits; parts: Parts } {
  let seed = 7;
  const next = (most: number) => {
    seed = (seed * 48271) % 2147483647;
    return seed % most;
  };
  let wait = 0;
  const rows = Array.from({ length: size }, () => {
    wait += next(2);
    const start = next(1e9);
    const length = next(1e7);
    return [
      wait,
      0,
      start / MS,
      (start + length) / MS,
      next(50),
      1,
      0,
      0,
      0,
      0,
      next(4) - 1,
      next(2),
      next(2),
    ];
  });
  const column = (i: number) => rows.map((row) => row[i]!);
  const waits = {
    wait: Int32Array.from(column(0)),
    thread: Int32Array.from(column(1)),
    start: Float64Array.from(column(2), (ms) => Math.round(ms * MS)),
    end: Float64Array.from(column(3), (ms) => Math.round(ms * MS)),
    lock: Int32Array.from(column(4)),
    ownerThread: Int32Array.from(column(10)),
    notification: Uint8Array.from(column(11)),
    part: Uint8Array.from(column(12), (bit) => bit * AFTER_NOTIFICATION),
  } as Waits;
  waits.ns = waits.end.map((end, i) => end - waits.start[i]!);
  return { waits, parts: select(waits, Uint8Array.of(1), 1e8, 9e8) };
}

function plain({ rows: _rows, ...sums }: Group) {
  return sums;
}

function slowly(waits: Waits, parts: Parts, values: Int32Array) {
  const byValue = new Map<number, Map<number, number>>();
  const notifications = new Map<number, number>();
  const notified = new Map<number, number>();
  for (const row of parts.rows) {
    const value = values[row]!;
    const byWait = byValue.get(value) ?? new Map<number, number>();
    byValue.set(value, byWait);
    const wait = waits.wait[row]!;
    byWait.set(wait, (byWait.get(wait) ?? 0) + parts.ns[row]!);
    if (waits.notification[row])
      notifications.set(
        value,
        (notifications.get(value) ?? 0) + parts.ns[row]!,
      );
    if (waits.part[row]! & AFTER_NOTIFICATION)
      notified.set(value, (notified.get(value) ?? 0) + parts.ns[row]!);
  }
  return [...byValue]
    .map(([value, byWait]) => {
      const all = [...byWait.values()];
      return {
        value,
        wait_ns: all.reduce((a, b) => a + b, 0),
        signalling_ns: notifications.get(value) ?? 0,
        after_notification_ns: notified.get(value) ?? 0,
        count: all.length,
        max_ns: Math.max(...all),
      };
    })
    .sort((a, b) => b.wait_ns - a.wait_ns || a.value - b.value);
}

test("waits in spans of a name", async () => {
  const inside = synthetic({
    spanNames: ["request"],
    spanPaths: [[-1, 0]],
    spans: [[1, 0, 50, 0]],
    waits: [
      [0, 1, 15, 30, 1, 1, 10, 2, 4, 2, 0, 0, 0],
      [1, 1, 60, 70, 1, 1, 10, 2, 4, 2, 0, 0],
    ],
  });
  const waits = await inside.waits();
  const of = (span: number | null) =>
    Array.from(select(waits, ALL, null, null, spanMask(inside, { span })).rows);
  expect(of(null)).toEqual([0, 1]);
  expect(of(0)).toEqual([0]);
  expect(of(1)).toEqual([]);
});
