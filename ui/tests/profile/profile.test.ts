/** Sums per context and per function are those of the reports, for every kind of choice. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inflate } from "../../src/data/columns";
import { openRecording } from "../../src/data/load";
import type { Recording } from "../../src/data/recording";
import { synthetic } from "../../src/data/synthetic";
import { flat } from "../../src/profile/flat";
import {
  heaviestChildren,
  Profiler,
  type Profile,
} from "../../src/profile/profile";
import { NO_CHANGES } from "../../src/profile/transform";
import { EVERYTHING, type Selection } from "../../src/profile/selection";

const ROOT = resolve(import.meta.dirname, "../../..");
const MS = 1_000_000;

function python(script: string, argument: string, input = ""): string {
  return execFileSync(
    join(ROOT, ".venv/bin/python"),
    [join(ROOT, "tests/web", script), argument],
    {
      input,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      env: {
        ...process.env,
        PYTHONPATH: [join(ROOT, "src"), join(ROOT, "tests")].join(":"),
      },
    },
  );
}

interface Case {
  time: "running" | "waiting" | "wall";
  start?: number;
  end?: number;
  thread?: string;
  process?: number;
  span?: string;
}

const CASES: Case[] = (["running", "waiting", "wall"] as const).flatMap(
  (time): Case[] => [
    { time },
    { time, start: 0.05 },
    { time, end: 0.1 },
    { time, start: 0.03, end: 0.0301 },
    { time, start: 0.02, end: 0.07, thread: "worker-1" },
    { time, thread: "worker-2" },
    { time, process: 200 },
    { time, span: "request" },
    { time, span: "query", start: 0.02, end: 0.07 },
    { time, span: "query", thread: "worker-1" },
  ],
);

describe("equal to the reports", () => {
  let folder: string;
  let recording: Recording;
  let profiler: Profiler;
  let reports: any[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "sonde-profile-"));
    python("made.py", folder);
    recording = await openRecording({
      part: (name) => inflate(new Uint8Array(readFileSync(join(folder, name)))),
      source: () => Promise.resolve(null),
    });
    profiler = new Profiler(recording, await recording.samples());
    const asked = CASES.flatMap((selection) => [
      ["tree", selection, { merge_lines: false }],
      ["tree", selection, { merge_lines: true }],
      ["flat", selection, {}],
      ["tree", selection, { mine: true }],
      ["tree", selection, { mine: true, merge_lines: true }],
    ]);
    reports = JSON.parse(
      python(
        "figures.py",
        join(folder, "everything.sonde"),
        JSON.stringify(asked),
      ),
    );
  }, 60_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  function chosen(one: Case): Selection {
    const rows = (flags: boolean[]) =>
      flags.flatMap((is, i) => (is ? [i] : []));
    return {
      time: one.time,
      span:
        one.span === undefined
          ? null
          : recording.meta.spans.findIndex(({ name }) => name === one.span),
      from: one.start === undefined ? null : Math.round(one.start * 1e9),
      to: one.end === undefined ? null : Math.round(one.end * 1e9),
      threads:
        one.thread === undefined
          ? null
          : rows(recording.threads.map(({ name }) => name === one.thread)),
      processes:
        one.process === undefined
          ? null
          : rows(recording.processes.map(({ pid }) => pid === one.process)),
    };
  }

  CASES.forEach((one, i) => {
    const name = JSON.stringify(one);
    test(`tree ${name}`, () => {
      const profile = profiler.profile(chosen(one));
      for (const [merge, report] of [
        [false, reports[5 * i]],
        [true, reports[5 * i + 1]],
      ] as const) {
        expect(profile.total).toBe(report.total);
        expect(profileRows(profile, merge)).toEqual(reported(report));
      }
    });

    test(`tree of own code ${name}`, () => {
      const changes = { ...NO_CHANGES, mine: true };
      const profile = profiler.profile(chosen(one), changes);
      for (const [merge, report] of [
        [false, reports[5 * i + 3]],
        [true, reports[5 * i + 4]],
      ] as const) {
        expect(profile.total).toBe(report.total);
        expect(profileRows(profile, merge)).toEqual(reported(report));
      }
    });

    test(`flat ${name}`, () => {
      const profile = profiler.profile(chosen(one));
      const rows = flat(profile).map((row) => {
        const { name, file, line } = profile.functions[row.fn];
        return {
          name,
          file,
          line,
          self: row.self,
          total: row.total,
          samples: row.samples,
        };
      });
      expect(rows).toEqual(reports[5 * i + 2].rows);
    });
  });
});

type Rows = Map<string, [self: number, total: number, samples: number]>;

/** A context that both ran and waited is two nodes in the report, and one here. */
function reported(report: any): Rows {
  const rows: Rows = new Map();
  const paths: string[] = [];
  for (const node of report.nodes) {
    const above = node.parent === null ? "" : paths[node.parent];
    const path = `${above}>${node.name}|${node.file}|${node.line}`;
    paths[node.id] = path;
    add(rows, path, node.self, node.total, node.samples);
  }
  return rows;
}

function profileRows(profile: Profile, mergeLines: boolean): Rows {
  const tree = profile.tree(mergeLines);
  const rows: Rows = new Map();
  const walk = (node: number, above: string) => {
    for (const child of heaviestChildren(tree, node)) {
      const { name, file } = profile.functions[tree.fn[child]];
      const path = `${above}>${name}|${file}|${tree.line[child]}`;
      add(rows, path, tree.self[child], tree.total[child], tree.samples[child]);
      walk(child, path);
    }
  };
  walk(-1, "");
  return rows;
}

function add(
  rows: Rows,
  path: string,
  self: number,
  total: number,
  samples: number,
): void {
  const [a, b, c] = rows.get(path) ?? [0, 0, 0];
  rows.set(path, [a + self, b + total, c + samples]);
}

describe("made by hand", () => {
  async function profiler() {
    const recording = synthetic();
    return new Profiler(recording, await recording.samples());
  }
  const names = (profile: Profile) =>
    Object.fromEntries(
      flat(profile).map((row) => [
        profile.functions[row.fn].name,
        [row.self / MS, row.total / MS],
      ]),
    );

  test("recursion is counted once", async () => {
    const profile = (await profiler()).profile({
      ...EVERYTHING,
      time: "running",
    });
    expect(names(profile).fib).toEqual([40, 40]);
    expect(names(profile)["[undecodable]"]).toEqual([10, 10]);
  });

  test("of a wait only what lies in the range counts", async () => {
    const profile = (await profiler()).profile({
      ...EVERYTHING,
      time: "waiting",
      from: 35 * MS,
      to: 45 * MS,
    });
    expect(profile.total).toBe(10 * MS);
    expect(names(profile)["_thread.lock.__enter__"]).toEqual([5, 5]);
  });

  test("focus, hide and collapse", async () => {
    const it = await profiler();
    const selection = { ...EVERYTHING, time: "running" } as const;
    const whole = it.profile(selection);
    const fib = whole.functions.findIndex(({ name }) => name === "fib");
    const work = whole.functions.findIndex(({ name }) => name === "work");
    const none = { focus: [], hide: [], collapse: [] };

    const focused = it.profile(selection, { ...none, focus: [fib] });
    expect(focused.total).toBe(40 * MS);
    expect(focused.measured).toBe(whole.total);
    const tree = focused.tree(true);
    expect(heaviestChildren(tree, -1).map((root) => tree.fn[root])).toEqual([
      fib,
    ]);

    const hidden = it.profile(selection, { ...none, hide: [fib] });
    expect(hidden.total).toBe(whole.total - 40 * MS);
    expect(names(hidden).fib).toBeUndefined();

    const flatter = it.profile(selection, { ...none, collapse: [fib] });
    expect(flatter.total).toBe(whole.total);
    const folded = flatter.tree(true);
    const fibs = Array.from(folded.fn).filter((fn) => fn === fib);
    expect(fibs).toHaveLength(1);
    expect(names(flatter)).toEqual(names(whole));

    const both = it.profile(selection, { ...none, focus: [work], hide: [fib] });
    expect(both.total).toBe(names(whole).work[1] * MS - 40 * MS);
  });
});
