import { expect, test } from "vitest";
import type { CallSlices, Flow } from "../../src/data/recording";
import { synthetic } from "../../src/data/synthetic";
import { flowRows, flowTree } from "../../src/profile/flow";
import {
  callAt,
  callLanes,
  eachBar,
  firstAfter,
} from "../../src/views/flow/lanes";

/** [thread, depth, start, end] */
function slices(rows: number[][]): CallSlices {
  return {
    thread: Uint32Array.from(rows, (row) => row[0]!),
    depth: Int32Array.from(rows, (row) => row[1]!),
    start: Float64Array.from(rows, (row) => row[2]!),
    end: Float64Array.from(rows, (row) => row[3]!),
    context: new Int32Array(rows.length),
    cut: new Uint8Array(rows.length),
  };
}

/** [thread, context, calls, measured, overhead, exceptions] */
function flow(rows: number[][]): Flow {
  const column = (at: number) => Float64Array.from(rows, (row) => row[at] ?? 0);
  return {
    thread: Uint32Array.from(rows, (row) => row[0]!),
    context: Int32Array.from(rows, (row) => row[1]!),
    calls: column(2),
    resumptions: column(9),
    exceptions: column(5),
    measured: column(3),
    overhead: column(4),
    preexisting: column(9),
    slices: slices([]),
  };
}

// Contexts 0 to 5 are <module> > main > work > fib > fib > fib, 7 and 8 a thread with work.
const ROWS = flow([
  [0, 1, 1, 100, 10],
  [0, 3, 2, 50, 5],
  [0, 4, 3, 30, 0],
  [0, 5, 4, 20, 25, 1],
  [1, 4, 1, 7, 0],
  [1, 8, 6, 9, 1],
]);

test("the tree adds up, and recursion counts once by function", () => {
  const recording = synthetic({ flow: ROWS });
  const tree = flowTree(recording, ROWS, [1, 1, 1]);
  expect([...tree.parent]).toEqual([-1, 0, 1, 2, 3, 4, -1, 6]);
  expect([...tree.numbers.base]).toEqual([0, 90, 0, 45, 37, 0, 0, 8]);
  expect([...tree.numbers.total]).toEqual([172, 172, 82, 82, 37, 0, 8, 8]);
  expect([...tree.numbers.callees]).toEqual([1, 0, 2, 4, 4, 0, 6, 0]);
  expect([...tree.numbers.recursion]).toEqual([0, 0, 0, 0, 4, 4, 0, 0]);
  expect(tree.total).toBe(180);
  const rows = flowRows(tree, recording.functions.length);
  const fib = rows.fn.findIndex(
    (fn) => recording.functions[fn]!.name === "fib",
  );
  const { calls, base, total, recursion, exceptions } = rows.numbers;
  expect([calls[fib], base[fib], total[fib]]).toEqual([10, 82, 82]);
  expect([recursion[fib], exceptions[fib]]).toEqual([8, 1]);
});

test("one thread", () => {
  const recording = synthetic({ flow: ROWS });
  const tree = flowTree(recording, ROWS, [0, 1, 0]);
  expect(tree.total).toBe(15);
  expect(tree.parent.length).toBe(7);
});

test("lanes of threads and depths", () => {
  const calls = slices([
    [0, 0, 0, 100],
    [0, 1, 5, 10],
    [0, 1, 10, 20],
    [0, 1, 30, 40],
    [2, 0, 0, 9],
  ]);
  const lanes = callLanes(calls, [1, 1, 1]);
  expect(lanes.map(({ first, end }) => [first, end])).toEqual([
    [0, 1],
    [1, 4],
    [4, 5],
  ]);
  expect(callLanes(calls, [1, 1, 0]).length).toBe(2);
  expect(firstAfter(calls, lanes[1]!, 10)).toBe(2);
  expect(callAt(calls, lanes[1]!, 25, 1)).toBe(-1);
  expect(callAt(calls, lanes[1]!, 25, 5)).toBe(3);
  expect(callAt(calls, lanes[1]!, 35, 0)).toBe(3);
});

test("a million calls are no more bars than there are pixels", () => {
  const size = 1_000_000;
  const calls: CallSlices = {
    thread: new Uint32Array(size),
    depth: new Int32Array(size),
    start: Float64Array.from({ length: size }, (_, i) => i * 10),
    end: Float64Array.from({ length: size }, (_, i) => i * 10 + 8),
    context: new Int32Array(size),
    cut: new Uint8Array(size),
  };
  const [lane] = callLanes(calls, [1]);
  expect(lane).toMatchObject({ first: 0, end: size });
  const bars: [number, number][] = [];
  const draw = (x: number, width: number) => bars.push([x, width]);
  eachBar(calls, lane!, { from: 0, to: size * 10 }, 1000, draw);
  expect(bars.length).toBe(1000);
  expect(bars.every(([, width]) => width === 1)).toBe(true);
  bars.length = 0;
  eachBar(calls, lane!, { from: 5_000_000, to: 5_000_040 }, 1000, draw);
  expect(bars.map(([x, width]) => [x, width])).toEqual([
    [0, 200],
    [250, 200],
    [500, 200],
    [750, 200],
  ]);
});
