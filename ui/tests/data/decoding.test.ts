/** What Python writes, read here: a recording with everything in it, and what must come out. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Columns, inflate } from "../../src/data/columns";
import { openRecording } from "../../src/data/load";
import type { Recording } from "../../src/data/recording";
import { callGraph } from "../../src/profile/calls";
import { EVERYTHING } from "../../src/profile/selection";

const ROOT = resolve(import.meta.dirname, "../../..");

type Frame = [string, string, number, number];

let folder: string;
let recording: Recording;
let truth: {
  samples: [number, number, Frame[], number, number, string[]][];
  waits: unknown[][];
  spans: [number, number, number, string[]][];
  calls: {
    caller: string[] | null;
    line: number;
    callee: string[];
    weight: number;
    count: number;
    error: number;
  }[];
  labels: string[];
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sonde-parts-"));
  execFileSync(
    join(ROOT, ".venv/bin/python"),
    [join(ROOT, "tests/web/made.py"), folder],
    {
      env: {
        ...process.env,
        PYTHONPATH: [join(ROOT, "src"), join(ROOT, "tests")].join(":"),
      },
    },
  );
  truth = JSON.parse(readFileSync(join(folder, "truth.json"), "utf8"));
  recording = await openRecording({
    part: (name) => inflate(new Uint8Array(readFileSync(join(folder, name)))),
    source: () => Promise.resolve(null),
  });
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true }));

function path(context: number): Frame[] {
  const { parent, fn, line } = recording.contexts;
  const frames: Frame[] = [];
  for (let at = context; at >= 0; at = parent[at]!) {
    const { name, file, line: first } = recording.functions[fn[at]!]!;
    frames.push([name, file, first, line[at]!]);
  }
  return frames.reverse();
}

/** The names from the outermost span to this one. */
function names(path: number): string[] {
  const { parent, name } = recording.spanPaths;
  const found: string[] = [];
  for (let at = path; at >= 0; at = parent[at]!)
    found.push(recording.meta.spans[name[at]!]!.name);
  return found.reverse();
}

test("samples", async () => {
  const { thread, time, context, weight, state, span } =
    await recording.samples();
  const rows = Array.from(thread, (t, i) => [
    t,
    time[i]!,
    path(context[i]!),
    weight[i]!,
    state[i]!,
    names(span[i]!),
  ]);
  const sorted = (all: unknown[]) =>
    all.map((row) => JSON.stringify(row)).sort();
  expect(sorted(rows)).toEqual(sorted(truth.samples));
  for (let i = 1; i < time.length; i++)
    if (thread[i] === thread[i - 1])
      expect(time[i]).toBeGreaterThanOrEqual(time[i - 1]!);
});

test("every part of every wait, with its owner", async () => {
  const waits = await recording.waits();
  const name = (f: number) => (f < 0 ? null : recording.functions[f]!.name);
  const rows = Array.from(waits.wait, (_, i) => [
    waits.thread[i]!,
    waits.start[i]!,
    waits.ns[i]!,
    recording.locks[waits.lock[i]!]!.name,
    waits.kind[i]!,
    waits.notification[i]!,
    path(waits.waiter[i]!),
    path(waits.owner[i]!),
    waits.ownerThread[i]!,
    name(waits.waiterFunction[i]!),
    name(waits.ownerFunction[i]!),
    names(waits.span[i]!),
  ]);
  expect(rows.length).toBeGreaterThan(200);
  expect(rows).toEqual(truth.waits.map((row) => row.slice(1)));
  // The numbers of waits are others, but the same rows share one.
  const numbers = new Map(
    truth.waits.map((row, i) => [row[0] as number, waits.wait[i]!]),
  );
  expect(Array.from(waits.wait)).toEqual(
    truth.waits.map((row) => numbers.get(row[0] as number)),
  );
  expect(new Set(numbers.values()).size).toBe(numbers.size);
  for (let i = 0; i < waits.ns.length; i++)
    expect(waits.end[i]! - waits.start[i]!).toBe(waits.ns[i]);
});

test("spans", async () => {
  const { thread, start, length, path } = await recording.spans();
  const rows = Array.from(thread, (t, i) => [
    t,
    start[i]!,
    length[i]! < 0 ? -1 : start[i]! + length[i]!,
    names(path[i]!),
  ]);
  const sorted = (all: unknown[]) =>
    all.map((row) => JSON.stringify(row)).sort();
  expect(sorted(rows)).toEqual(sorted(truth.spans));
  expect(recording.meta.counts.spans).toBe(rows.length);
});

test("counted calls, as the report has them", async () => {
  const { edges, functions } = callGraph(
    recording,
    await recording.calls(),
    EVERYTHING,
  );
  const named = (fn: number) =>
    fn < 0 ? null : [functions[fn]!.name, functions[fn]!.file];
  expect(edges.length).toBeGreaterThan(3);
  expect(edges.map((e) => [named(e.caller), e.line, named(e.callee)])).toEqual(
    truth.calls.map((e) => [e.caller, e.line, e.callee]),
  );
  edges.forEach((edge, i) => {
    expect(edge.count).toBe(truth.calls[i]!.count);
    expect(edge.weight).toBeCloseTo(truth.calls[i]!.weight, 9);
    expect(edge.error).toBeCloseTo(truth.calls[i]!.error, 9);
  });
});

test("the rest", () => {
  expect(recording.threads.map((thread) => thread.label)).toEqual(truth.labels);
  expect(recording.meta.counts.samples).toBe(truth.samples.length);
  expect(recording.processes.map((process) => process.pid)).toEqual([100, 200]);
  expect(recording.marks.map((mark) => mark.text)).toEqual(["warm", "busy"]);
  expect(recording.functions.map((fn) => fn.module)).toContain("parser");
});

describe("columns", () => {
  test("numbers up to 2^53", () => {
    const bytes = [2, 127, 255, 255, 255, 255, 255, 255, 255, 15];
    const read = new Columns(Uint8Array.from(bytes));
    expect(Array.from(read.unsigned(Float64Array))).toEqual([127, 2 ** 53 - 1]);
    expect(read.done).toBe(true);
  });

  test("a part that is cut off is an error, not a column of nothing", () => {
    const read = new Columns(Uint8Array.from([3, 1, 2]));
    expect(() => read.unsigned(Int32Array)).toThrow("is incomplete");
  });
});
