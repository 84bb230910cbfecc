import { describe, expect, test } from "vitest";
import { RUNNING } from "../../src/data/recording";
import { synthetic, type Changes } from "../../src/data/synthetic";
import { spanMask } from "../../src/profile/selection";
import { yOf, type Layout } from "../../src/views/timeline/drawing/layout";
import { spanAt } from "../../src/views/timeline/drawing/spans";
import { LOCK, RUN, type SpanTrack } from "../../src/views/timeline/lanes/lane";
import { buildLanes } from "../../src/views/timeline/lanes/segments";
import {
  spanTracks,
  withSpans,
} from "../../src/views/timeline/lanes/spantracks";
import { timesOf } from "../../src/views/timeline/lanes/times";

const MS = 1_000_000;

describe("spans", () => {
  /** A request with a query in it, another task beside it, one that is never left. */
  const SPANS: Changes = {
    spanNames: ["request", "query", "task"],
    spanPaths: [
      [-1, 0],
      [0, 1],
      [-1, 2],
    ],
    spans: [
      [0, 0, 60, 0],
      [0, 10, 20, 1],
      [0, 15, 35, 2],
      [0, 55, 10, 2],
      [0, 62, 8, 1],
      [2, 50, -1, 0],
    ],
    samples: [
      [0, 10, 2, 10, RUNNING, 0],
      [0, 20, 3, 10, RUNNING, 1],
      [0, 30, 5, 10, RUNNING, 2],
      [1, 40, 5, 10, RUNNING, -1],
      [2, 60, 5, 10, RUNNING, 0],
    ],
    waits: [[0, 1, 15, 30, 1, 1, 10, 2, 4, 2, 0, 0, 1]],
  };

  async function rows(
    span: number | null = null,
  ): Promise<Map<number, SpanTrack>> {
    const recording = synthetic(SPANS);
    return spanTracks(
      recording,
      await recording.spans(),
      spanMask(recording, { span }),
    );
  }

  test("lie below what they were entered in, and beside other tasks", async () => {
    const found = (await rows()).get(0)!;
    expect(Array.from(found.level)).toEqual([0, 1, 2, 1, 2]);
    expect(found.levels).toBe(3);
    expect(Array.from(found.end, (ns) => ns / MS)).toEqual([
      60, 30, 50, 65, 70,
    ]);
  });

  test("one that was not left lasts to the end", async () => {
    const found = (await rows()).get(2)!;
    expect(found.end[0]! / MS).toBe(100);
    expect(found.open[0]).toBe(1);
  });

  test("of a name come with those entered in them", async () => {
    const found = await rows(0);
    expect(Array.from(found.get(0)!.path)).toEqual([0, 1, 1]);
    expect([...found.keys()]).toEqual([0, 2]);
    expect([...(await rows(2)).keys()]).toEqual([0]);
    expect((await rows(3)).size).toBe(0);
  });

  test("a lane of their own follows the thread's", async () => {
    const recording = synthetic(SPANS);
    const of = [await recording.samples(), await recording.waits()] as const;
    const shown = withSpans(buildLanes(3, ...of, 0), await rows());
    expect(shown.map((lane) => [lane.thread, !!lane.spans])).toEqual([
      [0, false],
      [0, true],
      [1, false],
      [2, false],
      [2, true],
    ]);
    const layout: Layout = {
      width: 1000,
      height: 400,
      scroll: 0,
      timeWindow: { from: 0, to: 100 * MS },
      lanes: shown,
      lane: 36,
    };
    const at = (ms: number, level: number) =>
      spanAt(layout, 1, ms * MS, yOf(layout, 1) + 10 * level + 5);
    expect([at(20, 0), at(20, 1), at(20, 2)]).toEqual([0, 1, 2]);
    expect([at(40, 1), at(61, 0), at(99, 2)]).toEqual([-1, -1, -1]);
    expect(spanAt(layout, 0, 20 * MS, yOf(layout, 0) + 5)).toBe(-1);
  });

  test("leave in the lanes what happened inside, and its times", async () => {
    const recording = synthetic(SPANS);
    const [samples, waits] = [
      await recording.samples(),
      await recording.waits(),
    ];
    const mask = spanMask(recording, { span: 0 });
    const found = buildLanes(3, samples, waits, 0, mask);
    expect(found.map((lane) => Array.from(lane.state))).toEqual([
      [RUN, RUN],
      [LOCK],
      [RUN],
    ]);
    const times = timesOf({ recording, samples, waits }, mask);
    expect(Array.from(times.cpu, (ns) => ns / MS)).toEqual([20, 0, 10]);
    expect(Array.from(times.locks, (ns) => ns / MS)).toEqual([0, 15, 0]);
  });
});
