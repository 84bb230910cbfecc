/** Counted calls: shares, errors, and which windows are looked at. */

import { expect, test } from "vitest";
import { synthetic } from "../../src/data/synthetic";
import { callGraph, type CallEdge } from "../../src/profile/calls";
import { EVERYTHING } from "../../src/profile/selection";

// Contexts 3 and 4 are fib called from work:6 and from fib:21, 9 is Cache.get called from work:6.
const recording = synthetic({
  windows: [
    [0, 10],
    [1, 20],
    [0, 30],
  ],
  calls: [
    [0, 3, 4],
    [0, 4, 4],
    [1, 9, 1],
    [1, 9, 1],
    [2, 3, 2],
    [2, -1, 8],
  ],
});

async function graph(selection: Partial<typeof EVERYTHING> = {}) {
  return callGraph(recording, await recording.calls(), {
    ...EVERYTHING,
    ...selection,
  });
}

function edgeRow(edge: CallEdge, functions: readonly { name: string }[]) {
  return [
    functions[edge.caller]?.name ?? null,
    edge.line,
    functions[edge.callee].name,
    edge.weight,
    edge.count,
  ];
}

test("edges by weight; a call without a stack is one", async () => {
  const { edges, functions, windows, count } = await graph();
  expect([windows, count]).toEqual([3, 6]);
  expect(edges.map((edge) => edgeRow(edge, functions))).toEqual([
    [null, 0, "[undecodable]", 0.4, 1],
    ["work", 6, "fib", 0.3, 2],
    ["fib", 21, "fib", 0.2, 1],
    ["work", 6, "Cache.get", 0.1, 2],
  ]);
});

test("errors come from how windows differ", async () => {
  const { edges } = await graph();
  // Of Cache.get: windows of 8, 2 and 10 have 0, 2 and 0 of it; expected is a tenth of each.
  const spread = [0.8 ** 2, (2 - 0.2) ** 2, 1].reduce((sum, x) => sum + x);
  expect(edges[3].error).toBeCloseTo(Math.sqrt(spread) / 20, 12);
});

test("threads and ranges choose windows", async () => {
  const worker = await graph({ threads: [1] });
  expect([worker.windows, worker.count]).toEqual([1, 2]);
  expect(worker.edges.map((edge) => edge.weight)).toEqual([1]);
  expect(worker.edges[0].error).toBeCloseTo(0, 12);
  // From on, but not to.
  const early = await graph({ from: 10e6, to: 30e6 });
  expect([early.windows, early.count]).toEqual([2, 4]);
  const none = await graph({ from: 40e6 });
  expect([none.windows, none.count, none.edges.length]).toEqual([0, 0, 0]);
});
