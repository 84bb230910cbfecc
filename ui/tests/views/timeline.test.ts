import { describe, expect, test } from "vitest";
import { PREEMPTED, RUNNING, WAITING } from "../../src/data/recording";
import { synthetic, type Changes } from "../../src/data/synthetic";
import { makeTheme } from "../../src/elements/theme";
import { columns } from "../../src/views/timeline/drawing/columns";
import {
  laneHeight,
  placeAt,
  timeAt,
  visible,
  xOf,
  yOf,
  type Layout,
} from "../../src/views/timeline/drawing/layout";
import {
  rangeBetween,
  scrollToLane,
} from "../../src/views/timeline/drawing/overlay";
import {
  hasInk,
  paint,
  textures,
} from "../../src/views/timeline/drawing/texture";
import {
  panWindow,
  parseWindow,
  ticks,
  formatWindow,
  zoomWindow,
} from "../../src/views/timeline/drawing/window";
import {
  GIL,
  LOCK,
  RUNNABLE,
  OTHER,
  RUN,
  segmentAt,
  NOTIFICATION,
  STATES,
} from "../../src/views/timeline/lanes/lane";
import {
  sortValue,
  sortLanes,
  orderOf,
  type Order,
} from "../../src/views/timeline/lanes/order";
import { buildLanes } from "../../src/views/timeline/lanes/segments";
import { timesOf } from "../../src/views/timeline/lanes/times";
import {
  nextWait,
  ownerWaits,
  waitOf,
} from "../../src/views/timeline/lanes/wait";

const MS = 1_000_000;

async function made(changes: Changes = {}) {
  const recording = synthetic(changes);
  return buildLanes(
    recording.threads.length,
    await recording.samples(),
    await recording.waits(),
    0,
  );
}

async function segmentsOf(changes: Changes = {}, thread = 0) {
  const lane = (await made(changes))[thread]!;
  return Array.from(lane.start, (start, i) => [
    start / MS,
    lane.end[i]! / MS,
    lane.state[i]!,
  ]);
}

describe("segments", () => {
  test("lock events rule over samples of waiting", async () => {
    expect(await segmentsOf({}, 1)).toEqual([
      [10, 15, RUN],
      [15, 30, LOCK],
      [30, 40, LOCK],
      [40, 50, RUN],
      [50, 90, RUN],
    ]);
  });

  test("every state", async () => {
    const found = await segmentsOf({
      samples: [
        [0, 10, 0, 10, RUNNING],
        [0, 20, 0, 10, WAITING],
        [0, 30, 0, 5, PREEMPTED],
      ],
      waits: [
        [0, 0, 30, 40, 0, 0, 0, 0, 0, 0, 1, 0],
        [1, 0, 40, 50, 1, 1, 0, 0, 0, 0, 1, 0],
        [2, 0, 50, 60, 2, 7, 0, 0, 0, 0, 1, 1],
      ],
    });
    expect(found).toEqual([
      [0, 10, RUN],
      [10, 20, OTHER],
      [25, 30, RUNNABLE],
      [30, 40, GIL],
      [40, 50, LOCK],
      [50, 60, NOTIFICATION],
    ]);
  });

  test("running time goes around waits, none of it lost", async () => {
    const found = await segmentsOf({
      samples: [
        [0, 10, 0, 10, RUNNING],
        [0, 61, 0, 10, RUNNING],
      ],
      waits: [[0, 0, 19, 60, 1, 1, 0, 0, 0, 0, 1, 0]],
    });
    expect(found).toEqual([
      [0, 10, RUN],
      [10, 19, RUN],
      [19, 60, LOCK],
      [60, 61, RUN],
    ]);
  });

  test("also around being taken off the processor", async () => {
    const found = await segmentsOf({
      samples: [
        [0, 10, 0, 10, RUNNING],
        [0, 40, 0, 21, PREEMPTED],
        [0, 41, 0, 10, RUNNING],
      ],
      waits: [],
    });
    expect(found).toEqual([
      [0, 10, RUN],
      [10, 19, RUN],
      [19, 40, RUNNABLE],
      [40, 41, RUN],
    ]);
  });

  test("waits that come out of order are put into it", async () => {
    const found = await segmentsOf({
      samples: [],
      waits: [
        [0, 0, 50, 60, 1, 1, 0, 0, 0, 0, 1, 0],
        [1, 0, 10, 20, 1, 1, 0, 0, 0, 0, 1, 0],
      ],
    });
    expect(found).toEqual([
      [10, 20, LOCK],
      [50, 60, LOCK],
    ]);
  });

  test("never overlap, whatever the recording says", async () => {
    let seed = 3;
    const next = (most: number) => (seed = (seed * 48271) % 2147483647) % most;
    let time = 0;
    const samples = Array.from({ length: 400 }, () => {
      time += next(5);
      const row: [number, number, number, number, number] = [
        0,
        time,
        0,
        next(9),
        next(3),
      ];
      return row;
    });
    const waits = Array.from({ length: 200 }, (_, i) => {
      const start = next(1000);
      return [
        i,
        0,
        start,
        start + next(20),
        1,
        next(2),
        0,
        0,
        0,
        0,
        1,
        next(2),
      ];
    });
    const lane = (await made({ samples, waits }))[0]!;
    expect(lane.start.length).toBeGreaterThan(100);
    for (let i = 0; i < lane.start.length; i++) {
      expect(lane.end[i]!).toBeGreaterThan(lane.start[i]!);
      if (i) expect(lane.start[i]!).toBeGreaterThanOrEqual(lane.end[i - 1]!);
    }
  });

  test("what is at a moment", async () => {
    const lane = (await made())[1]!;
    expect(segmentAt(lane, 12 * MS)).toBe(0);
    expect(segmentAt(lane, 15 * MS)).toBe(1);
    expect(segmentAt(lane, 5 * MS)).toBe(-1);
    expect(segmentAt(lane, 95 * MS)).toBe(-1);
  });
});

describe("columns", () => {
  test("add up to the time spent, at any zoom", async () => {
    const lane = (await made())[1]!;
    for (const width of [1, 7, 100, 1000]) {
      const shares = columns(lane, 0, 100 * MS, width);
      const spent = new Float64Array(STATES);
      shares.forEach((share, i) => (spent[i % STATES]! += share));
      const perColumn = (100 * MS) / width;
      expect(spent[RUN]! * perColumn).toBeCloseTo(55 * MS, -2);
      expect(spent[LOCK]! * perColumn).toBeCloseTo(25 * MS, -2);
    }
  });

  test("only what is in the window", async () => {
    const lane = (await made())[1]!;
    const shares = columns(lane, 20 * MS, 40 * MS, 2);
    expect(shares[LOCK]).toBeCloseTo(1);
    expect(shares[STATES + LOCK]).toBeCloseTo(1);
    expect(shares[RUN]).toBe(0);
    const close = columns(lane, 44 * MS, 44 * MS + 10_000, 50);
    expect([...close].filter((share) => share === 1)).toHaveLength(50);
  });
});

describe("painting", () => {
  const look = textures(makeTheme(false), 1);

  test("a share is as high as it is large, from the bottom up", () => {
    const picture = { data: new Uint32Array(2 * 10), width: 2, height: 10 };
    const shares = new Float32Array(2 * STATES);
    shares[RUN] = 0.3;
    shares[GIL] = 0.5;
    paint(picture, look, shares, 0, 10);
    const column = (x: number) =>
      Array.from({ length: 10 }, (_, y) => picture.data[y * 2 + x]!);
    expect(column(0).slice(0, 2)).toEqual([0, 0]);
    expect(column(0).slice(2).every(Boolean)).toBe(true);
    const solid = look.pixels[RUN]![0]!;
    expect(column(0).slice(7)).toEqual([solid, solid, solid]);
    expect(column(1).every((pixel) => pixel === 0)).toBe(true);
  });

  test("a lane that is partly outside stays inside the picture", () => {
    const picture = { data: new Uint32Array(4), width: 1, height: 4 };
    const shares = new Float32Array(STATES);
    shares[RUN] = 1;
    paint(picture, look, shares, 2, 10);
    paint(picture, look, shares, -8, 10);
    expect([...picture.data].every(Boolean)).toBe(true);
  });

  test("textures differ without their colours", () => {
    const shape = (state: number) =>
      Array.from({ length: 64 }, (_, i) =>
        hasInk(state, i % 8, i >> 3) ? "#" : ".",
      ).join("");
    const shapes = [RUN, GIL, LOCK, NOTIFICATION, OTHER].map(shape);
    expect(new Set(shapes).size).toBe(5);
  });
});

describe("the window", () => {
  test("zooming keeps the moment under the pointer, and stays inside", () => {
    const span = { from: 0, to: 100 };
    const closer = zoomWindow({ from: 0, to: 1e9 }, 0.5, 25e7, 1e9);
    expect((25e7 - closer.from) / (closer.to - closer.from)).toBeCloseTo(0.25);
    expect(zoomWindow({ from: 0, to: 1e9 }, 2, 5e8, 1e9)).toEqual({
      from: 0,
      to: 1e9,
    });
    expect(panWindow(span, 50, 100)).toEqual(span);
    expect(panWindow({ from: 10, to: 20 }, -50, 100)).toEqual({
      from: 0,
      to: 10,
    });
    const least = zoomWindow({ from: 0, to: 20_000 }, 0.001, 5000, 1e9);
    expect(least.to - least.from).toBe(10_000);
  });

  test("in the address", () => {
    expect(parseWindow(formatWindow({ from: 1.4, to: 99 }), 100)).toEqual({
      from: 1,
      to: 99,
    });
    for (const nonsense of ["", null, "5-2", "a-b", "-"]) {
      expect(parseWindow(nonsense, 100)).toEqual({ from: 0, to: 100 });
    }
  });

  test("round moments with the digits they need", () => {
    const labels = (from: number, to: number) =>
      ticks({ from, to }, 5).map((tick) => tick.label);
    expect(labels(0, 10e9)).toEqual([
      "0 s",
      "2 s",
      "4 s",
      "6 s",
      "8 s",
      "10 s",
    ]);
    expect(labels(1.2e9, 1.201e9)[0]).toBe("1.2000 s");
    expect(ticks({ from: 5, to: 5 }, 5)).toEqual([]);
  });
});

describe("lanes in order", () => {
  test("by what matters", async () => {
    const recording = synthetic();
    const all = await made();
    const times = timesOf({
      recording,
      samples: await recording.samples(),
      waits: await recording.waits(),
    });
    const order = (by: Order) =>
      sortLanes(recording, all, times, by).map((lane) => lane.thread);
    expect(order("cpu")).toEqual([0, 1, 2]);
    expect(order("blocked")).toEqual([1, 2, 0]);
    expect(order("waiting")).toEqual([2, 0, 1]);
    expect(order("name")).toEqual([0, 1, 2]);
    expect(sortValue(times, 1, "blocked")).toBe(25 * MS);
    const totals = Object.values(times).map((column) =>
      [...(column as Float64Array)].map((ns) => ns / MS),
    );
    expect(totals).toEqual([
      [90, 55, 20],
      [0, 0, 4],
      [0, 25, 16],
      [30, 0, 0],
      [0, 0, 0],
      [0, 0, 11],
    ]);
    expect(orderOf("nonsense")).toBe("cpu");
    expect(orderOf(null)).toBe("cpu");
  });
});

test("a wait with all its owners", async () => {
  const waits = await synthetic().waits();
  expect(waitOf(waits, 0)).toMatchObject({
    thread: 1,
    lock: 1,
    start: 15 * MS,
    end: 40 * MS,
    ns: 25 * MS,
    notification: false,
    parts: [
      { row: 0, owner: 0 },
      { row: 1, owner: 2 },
    ],
  });
  expect(waitOf(waits, 99)).toBeNull();
  const again = synthetic({
    waits: [
      [0, 1, 10, 20, 1, 1, 10, 2, 4, 2, 0, 0],
      [0, 1, 20, 24, 1, 1, 10, 2, 4, 2, 0, 0],
      [0, 1, 24, 30, 1, 1, 10, 3, 4, 2, 0, 0],
    ],
  });
  const joined = waitOf(await again.waits(), 0)!;
  expect(joined.parts.map((part) => part.end / MS)).toEqual([24, 30]);
  expect(joined.ns).toBe(20 * MS);
});

test("from wait to wait along a lane", async () => {
  const waits = await synthetic().waits();
  const lane = (await made())[2]!;
  const at = (i: number) => lane.start[i]! / MS;
  expect(at(nextWait(lane, null, 1, 0))).toBe(20);
  expect(at(nextWait(lane, waitOf(waits, 1), 1, 0))).toBe(60);
  expect(at(nextWait(lane, waitOf(waits, 3), 1, 0))).toBe(61);
  expect(nextWait(lane, waitOf(waits, 4), 1, 0)).toBe(-1);
  expect(at(nextWait(lane, waitOf(waits, 4), -1, 0))).toBe(60);
  expect(nextWait(lane, waitOf(waits, 1), -1, 0)).toBe(-1);
});

test("waits are attributed further where owners wait themselves", async () => {
  // 0 waits for 1, which waits for 2, which waits for the GIL that 0 had; and 2 for a notification.
  const changes: Changes = {
    samples: [],
    waits: [
      [0, 0, 10, 50, 1, 1, 0, 0, 0, 0, 1, 0],
      [1, 1, 12, 42, 2, 1, 0, 0, 0, 0, 2, 0],
      [2, 2, 20, 30, 0, 0, 0, 0, 0, 0, -1, 0],
      [3, 2, 30, 40, 2, 7, 0, 0, 0, 0, 1, 1],
      [4, 1, 43, 44, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
  };
  const recording = synthetic(changes);
  const found = ownerWaits(
    await recording.waits(),
    await made(changes),
    1,
    10 * MS,
    50 * MS,
  );
  expect(
    found.map((one) => [one.thread, one.lock, one.owner, one.ns / MS]),
  ).toEqual([
    [1, 2, 2, 30],
    [2, 0, -1, 10],
  ]);
});

describe("where things are", () => {
  const layout = {
    width: 1222,
    height: 340,
    scroll: 30,
    timeWindow: { from: 0, to: 1000 },
    lanes: Array.from({ length: 50 }),
    lane: 24,
  } as unknown as Layout;

  test("time and place, there and back", () => {
    expect(xOf(layout, 0)).toBe(210);
    expect(xOf(layout, 1000)).toBe(1210);
    expect(timeAt(layout, xOf(layout, 333))).toBeCloseTo(333);
    expect(placeAt(layout, yOf(layout, 7) + 2)).toBe(7);
    expect(placeAt(layout, 10)).toBe(-1);
    expect(visible(layout)).toEqual([1, 14]);
  });

  test("lanes take the room there is, within reason", () => {
    expect(laneHeight(6, 560)).toBe(46);
    expect(laneHeight(18, 560)).toBe(28);
    expect(laneHeight(200, 560)).toBe(24);
    expect(laneHeight(0, 560)).toBe(46);
  });

  test("a brush is a range inside the recording", () => {
    expect(rangeBetween(layout, 310, 410, 1000)).toEqual({
      from: 100,
      to: 200,
    });
    expect(rangeBetween(layout, 410, 0, 1000)).toEqual({ from: 0, to: 200 });
    expect(rangeBetween(layout, 310, 310, 1000)).toEqual({
      from: 100,
      to: 101,
    });
  });

  test("a lane is scrolled into sight, no farther", () => {
    expect(scrollToLane(layout, 3)).toBe(30);
    expect(scrollToLane(layout, 0)).toBe(0);
    expect(scrollToLane(layout, 49)).toBe(900);
  });
});
