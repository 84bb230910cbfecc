import { describe, expect, test } from "vitest";
import type { Aspect } from "../../src/data/recording";
import { synthetic } from "../../src/data/synthetic";
import {
  stackFrames,
  isLibrary,
  stackLine,
  shortFile,
} from "../../src/views/locks/callstack";
import { moveAspect } from "../../src/views/locks/chips";
import { totalOf } from "../../src/views/locks/groups";
import { label, summaryText } from "../../src/views/locks/labels";
import { longest, pairs } from "../../src/views/locks/pairs";
import {
  AspectColumns,
  DEFAULT_ASPECTS,
  select,
} from "../../src/views/locks/parts";
import { RowTree } from "../../src/views/locks/rows";

const MS = 1_000_000;
const recording = synthetic();

async function opened(by: readonly Aspect[] = DEFAULT_ASPECTS) {
  const waits = await recording.waits();
  const parts = select(waits, Uint8Array.of(1, 1, 1), null, null);
  const columns = new AspectColumns(recording, waits);
  return new RowTree(waits, parts, columns, by, totalOf(waits, parts));
}

describe("the tree of rows", () => {
  test("opens by itself where the time is", async () => {
    const rows = await opened();
    const rowTexts = rows
      .visible()
      .map((row) => [row.depth, row.aspect, row.group.wait_ns / MS]);
    expect(rowTexts).toEqual([
      [0, "kind", 41],
      [1, "lock", 41],
      [2, "owner_chain", 31],
      [3, "waiter_chain", 31],
      [2, "owner_chain", 10],
      [3, "waiter_chain", 10],
      [0, "kind", 30],
      [1, "lock", 30],
      [2, "owner_chain", 30],
      [3, "waiter_chain", 30],
      [0, "kind", 4],
    ]);
    expect(rows.heaviest()?.path).toBe("1/1/2/10");
  });

  test("a row is found by its path, and is seen then", async () => {
    const rows = await opened();
    const found = rows.find("0/0/3/8");
    expect(found?.group.wait_ns).toBe(3 * MS);
    expect(rows.visible()).toContain(found);
    expect(rows.find("0/7")).toBeNull();
    expect(rows.find("nonsense")).toBeNull();
  });
});

describe("the order of aspects", () => {
  const order: Aspect[] = ["kind", "lock", "owner_chain"];

  test("a chip is put to any place", () => {
    expect(moveAspect(order, "owner_chain", 0)).toEqual([
      "owner_chain",
      "kind",
      "lock",
    ]);
    expect(moveAspect(order, "kind", 2)).toEqual([
      "lock",
      "owner_chain",
      "kind",
    ]);
    expect(moveAspect(order, "kind", -5)).toEqual(order);
    expect(moveAspect(order, "waiter_thread", 1)).toEqual([
      "kind",
      "waiter_thread",
      "lock",
      "owner_chain",
    ]);
  });

  test("or taken out, but not the last one", () => {
    expect(moveAspect(order, "lock", null)).toEqual(["kind", "owner_chain"]);
    expect(moveAspect(["lock"], "lock", null)).toEqual(["lock"]);
  });
});

describe("chains", () => {
  test("innermost first, the machinery inside the marked frame", () => {
    const frames = stackFrames(recording, 10, 4);
    expect(frames.map((frame) => [frame.name, frame.site])).toEqual([
      ["_thread.lock.__enter__", false],
      ["Cache.get", true],
      ["work", false],
      ["Thread._bootstrap", false],
    ]);
    expect(stackLine(frames)).toBe("Cache.get (cache.py:43) < work");
  });

  test("of recursion the innermost is marked", () => {
    const frames = stackFrames(recording, 5, 3);
    expect(frames.map((frame) => frame.site)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(stackLine(frames, 1)).toBe("fib (work.py:22) < fib < …");
  });

  test("in a library, the program's own frame comes first", () => {
    const library = synthetic({
      functions: [
        {
          name: "order",
          file: "/app/shop.py",
          line: 1,
          runtime: "",
          module: "",
        },
        {
          name: "Handler.handle",
          file: "/usr/lib/python3.12/logging/__init__.py",
          line: 1020,
          runtime: "",
          module: "",
        },
      ],
      contexts: [
        [-1, 0, 22],
        [0, 1, 1026],
      ],
    });
    expect(stackLine(stackFrames(library, 1, 1))).toBe(
      "order (shop.py:22), in Handler.handle",
    );
  });

  test("no frames at all", () => {
    expect(stackLine(stackFrames(recording, -1, -1))).toBe("no Python frames");
  });

  test("files", () => {
    expect(shortFile("/a/logging/__init__.py")).toBe("logging/__init__.py");
    expect(shortFile("/a/b.py")).toBe("b.py");
    expect(isLibrary("/usr/lib/python3.12/queue.py")).toBe(true);
    expect(isLibrary("/v/site-packages/x/y.py")).toBe(true);
    expect(isLibrary("<frozen importlib._bootstrap>")).toBe(true);
    expect(isLibrary("/home/me/app.py")).toBe(false);
  });
});

test("who waited because of whom", async () => {
  const rows = await opened();
  const { waits, parts } = rows;
  const rowTexts = pairs(waits, parts, parts.rows).map((pair) => [
    pair.waiter,
    pair.owner,
    pair.ns / MS,
    pair.row,
  ]);
  expect(rowTexts).toEqual([
    [10, 2, 31, 2],
    [1, 9, 30, 3],
    [10, 8, 10, 1],
    [8, 3, 3, 5],
    [8, -1, 1, 4],
  ]);
  expect(longest(waits, parts, Int32Array.of(0, 1, 2))).toEqual({
    row: 1,
    ns: 25 * MS,
  });
  expect(longest(waits, parts, Int32Array.of())).toBeNull();
});

test("in words", async () => {
  const rows = await opened();
  expect(summaryText(rows.all, 2, 0)).toBe(
    "Threads waited 75.0 ms in 5 waits: 45.0 ms for locks held by other threads and 30.0 ms for " +
      "notifications (queues, events, joins). 2 more waits cannot be counted: " +
      "events were lost.",
  );
  const words = rows
    .visible()
    .map((row) => label(recording, rows.waits, row.aspect, row.group))
    .map(({ verb, text }) => `${verb} ${text}`.trim());
  expect(words.slice(0, 4)).toEqual([
    "locks",
    "`with self._lock` in cache.py:43",
    "held by work (work.py:6) < main < <module>",
    "in Cache.get (cache.py:43) < work",
  ]);
  expect(words).toContain("notified by Cache.get (cache.py:43) < work");
  const unowned = await opened(["owner_thread"]);
  const owners = unowned.top.map(
    (row) => label(recording, unowned.waits, row.aspect, row.group).text,
  );
  expect(owners).toContain("an unknown thread");
});
