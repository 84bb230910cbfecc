import { describe, expect, test } from "vitest";
import { flat } from "../../src/profile/flat";
import { EVERYTHING } from "../../src/profile/selection";
import { clock, length, range } from "../../src/store/clock";
import { command } from "../../src/store/command";
import {
  boxOf,
  cellAt,
  zoomRange,
  heatOf,
  placeAt,
  placeOf,
  rangeOf,
  ROW,
  strength,
  ticks,
  type Heat,
} from "../../src/store/heatgrid";
import { profilerOf, decodeTree } from "../../src/store/load";
import {
  parseSelection,
  withLabel,
  pickCell,
  queryOf,
  formatSelection,
  type Cell,
  type StoreSelection,
} from "../../src/store/selection";

const NOON = Date.UTC(2026, 10, 15, 12);
const NOTHING: StoreSelection = parseSelection({}, "host");

function cell(value: string | null, column: number): Cell {
  const from = NOON + column * 5000;
  return { label: "host", value, from, to: from + 5000 };
}

const HEAT: Heat = {
  by: "host",
  begin: NOON,
  step: 5000,
  columns: 10,
  rows: [
    { value: "a", cells: [0, 5, 0, 0, 9, 0, 0, 0, 0, 1] },
    { value: null, cells: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0] },
  ],
  more: { rows: 0, ns: 0 },
};

describe("what is chosen", () => {
  const all: StoreSelection = {
    where: [
      ["service", ["shop & co", "a,b*"]],
      ["region", [null]],
    ],
    from: NOON,
    to: NOON + 60_000,
    by: "version",
    a: cell("ü#&", 1),
    b: cell(null, 2),
  };

  test("is all in the address", () => {
    const settings = formatSelection(all, { "flame.colour": "state" }, "host");
    expect(settings["flame.colour"]).toBe("state");
    expect(parseSelection(settings, "host")).toEqual(all);
    // What is as at the start takes no room there.
    expect(formatSelection(NOTHING, {}, "host")).toEqual({});
    expect(formatSelection(NOTHING, settings, "host")).toEqual({
      "flame.colour": "state",
    });
  });

  test("nonsense means nothing", () => {
    for (const text of ["", "{", "1", "[1]", '["x",[]]', '[["x",[2]]]'])
      expect(parseSelection({ "store.where": text }, "host").where).toEqual([]);
    for (const text of [
      "x",
      "[]",
      '["host","a",5,5]',
      '["host","a","1","2"]',
      '[1,"a",1,2]',
      '["host",{},1,2]',
    ])
      expect(parseSelection({ "store.a": text }, "host").a).toBeNull();
    const backwards = { "store.from": "9", "store.to": "3" };
    expect(parseSelection(backwards, "host")).toEqual(NOTHING);
    // A second cell needs a first one.
    const lonely = { "store.b": '["host","a",1,2]' };
    expect(parseSelection(lonely, "host").b).toBeNull();
  });

  test("cells: one, a second to compare, then one again", () => {
    const one = pickCell(NOTHING, cell("a", 1));
    expect([one.a, one.b]).toEqual([cell("a", 1), null]);
    const two = pickCell(one, cell("b", 1));
    expect([two.a, two.b]).toEqual([cell("a", 1), cell("b", 1)]);
    const again = pickCell(two, cell("c", 1));
    expect([again.a, again.b]).toEqual([cell("c", 1), null]);
    // The same once more lets it go.
    expect(pickCell(two, cell("b", 1)).b).toBeNull();
    expect(pickCell(two, cell("a", 1)).a).toEqual(cell("b", 1));
    expect(pickCell(one, cell("a", 1)).a).toBeNull();
    const alone = pickCell(two, cell("a", 1), true);
    expect([alone.a, alone.b]).toEqual([cell("a", 1), null]);
  });

  test("labels are narrowed and widened", () => {
    const some = withLabel(all.where, "service", ["x"]);
    expect(some).toEqual([
      ["region", [null]],
      ["service", ["x"]],
    ]);
    expect(withLabel(some, "service", null)).toEqual([["region", [null]]]);
    expect(withLabel(some, "region", [])).toEqual([["service", ["x"]]]);
  });

  test("a cell is asked for with the labels above it", () => {
    expect(queryOf(all, all.a)).toEqual({
      where: [...all.where, ["host", ["ü#&"]]],
      from: NOON + 5000,
      to: NOON + 10_000,
    });
    expect(queryOf(all, null)).toEqual({
      where: all.where,
      from: NOON,
      to: NOON + 60_000,
    });
  });
});

describe("the command that reports the same", () => {
  const commandOf = (where: StoreSelection["where"], at: Cell | null) =>
    command("my store", where, at, { from: null, to: NOON }, "wall");

  test("is written as a shell takes it", () => {
    expect(commandOf([["service", ["shop", "b's"]]], cell("a", 0))).toBe(
      "sonde fleet report 'my store' flat --where 'service=shop,b'\\''s' " +
        "--where host=a --from 2026-11-15T12:00:00.000 --to 2026-11-15T12:00:05.000 --wall",
    );
    expect(commandOf([["region", [null]]], null)).toBe(
      "sonde fleet report 'my store' flat --where 'region!=*' " +
        "--to 2026-11-15T12:00:00.000 --wall",
    );
  });

  test("is left out where it would mean something else", () => {
    for (const value of ["a,b", "a*", "", " a"])
      expect(commandOf([["service", [value]]], null)).toBeNull();
    expect(commandOf([["service", ["a", null]]], null)).toBeNull();
  });
});

describe("the map", () => {
  test("comes in nanoseconds and is kept in milliseconds", () => {
    const json = JSON.parse(
      `{"by":"host","begin_ns":${NOON}000000,"step_ns":5000000000,"columns":10,
        "rows":[],"more_rows":3,"more_ns":7}`,
    );
    const heat = heatOf(json);
    expect([heat.begin, heat.step]).toEqual([NOON, 5000]);
    expect(heat.more).toEqual({ rows: 3, ns: 7 });
  });

  test("finds cells by points and points by cells", () => {
    const width = 333;
    for (let row = 0; row < 2; row++) {
      for (let column = 0; column < 10; column++) {
        const box = boxOf(HEAT, width, { row, column });
        const middle = [box.x + box.width / 2, box.y + box.height / 2] as const;
        expect(placeAt(HEAT, width, ...middle)).toEqual({ row, column });
      }
    }
    expect(placeAt(HEAT, width, -1, 5)).toBeNull();
    expect(placeAt(HEAT, width, width, 5)).toBeNull();
    expect(placeAt(HEAT, width, 5, 2 * ROW)).toBeNull();
  });

  test("cells are cut where the range is", () => {
    const now = { ...NOTHING, from: NOON + 1500, to: NOON + 48_000 };
    const first = cellAt(HEAT, now, { row: 1, column: 0 });
    expect(first).toEqual({
      label: "host",
      value: null,
      from: NOON + 1500,
      to: NOON + 5000,
    });
    expect(cellAt(HEAT, now, { row: 0, column: 9 }).to).toBe(NOON + 48_000);
    expect(placeOf(HEAT, now, first)).toEqual({ row: 1, column: 0 });
    // Of another map it is no cell.
    expect(placeOf(HEAT, NOTHING, first)).toBeNull();
    expect(placeOf(HEAT, NOTHING, { ...first, label: "version" })).toBeNull();
    expect(placeOf(HEAT, NOTHING, cell("gone", 1))).toBeNull();
    expect(placeOf(HEAT, NOTHING, cell("a", 99))).toBeNull();
  });

  test("a range of columns, whichever way it is dragged", () => {
    const expected = { from: NOON + 10_000, to: NOON + 25_000 };
    expect(rangeOf(HEAT, NOTHING, 2, 4)).toEqual(expected);
    expect(rangeOf(HEAT, NOTHING, 4, 2)).toEqual(expected);
    expect(zoomRange(HEAT, NOTHING, 0)).toEqual({
      from: NOON,
      to: NOON + 10_000,
    });
  });

  test("what is there is seen, and nothing is not", () => {
    expect(strength(0, 9)).toBe(0);
    expect(strength(1, 1e12)).toBeGreaterThan(0.1);
    expect(strength(9, 9)).toBe(1);
    expect(strength(3, 9)).toBeLessThan(strength(4, 9));
  });

  test("times are shown at intervals, with the day when it changes", () => {
    const texts = ticks(HEAT, 500, 100).map((tick) => tick.text);
    expect(texts).toEqual([
      "2026-11-15 12:00:00",
      "12:00:10",
      "12:00:20",
      "12:00:30",
      "12:00:40",
    ]);
    const night = { ...HEAT, begin: NOON + 12 * 3_600_000 - 20_000 };
    expect(ticks(night, 500, 100)[2].text).toBe("2026-11-16 00:00:00");
  });
});

describe("moments", () => {
  test("are as fine as they are divided", () => {
    expect(clock(NOON + 1234, 1)).toBe("12:00:01.234");
    expect(clock(NOON + 1000, 1000)).toBe("12:00:01");
    expect(clock(NOON, 900_000)).toBe("12:00");
    expect(clock(NOON - 43_200_000, 86_400_000)).toBe("2026-11-15");
    expect(range(NOON, NOON + 500)).toBe(
      "2026-11-15 12:00:00.000 – 12:00:00.500 UTC",
    );
    expect(range(NOON, NOON + 60_000)).toBe("2026-11-15 12:00 – 12:01 UTC");
    expect(range(NOON, NOON + 86_400_000)).toBe(
      "2026-11-15 12:00 – 2026-11-16 12:00 UTC",
    );
    expect([1, 500, 15_000, 7_200_000, 86_400_000].map(length)).toEqual([
      "1 ms",
      "500 ms",
      "15 s",
      "2 h",
      "1 d",
    ]);
  });
});

describe("a tree that is summed up already", () => {
  /** As src/sonde/web/columns.py writes columns. */
  const bytes: number[] = [];
  const put = (value: number) => {
    while (value > 127) {
      bytes.push((value % 128) + 128);
      value = Math.floor(value / 128);
    }
    bytes.push(value);
  };
  const column = (values: readonly number[]) =>
    [values.length, ...values].forEach(put);
  const zigzag = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value);
  const head = {
    recordings: 3,
    functions: [
      ["main", 0, 1, "cpython", "app"],
      ["work ü", 0, 5, "cpython", "app"],
    ],
    files: ["/app.py"],
  };
  column([...new TextEncoder().encode(JSON.stringify(head))]);
  column([-1, 1, 0, -1].map(zigzag)); // parents -1, 0, 0, -1, by their changes
  column([1, 2, 2, 0]);
  column([3, 6, 7, 0].map(zigzag));
  column([10, 2 ** 40, 5, 7]);
  column([0, 1, 0, 0]);
  column([1, 1000, 1, 2]);
  column([0, 1, 0, 0]);
  const found = decodeTree(Uint8Array.from(bytes), "host a");
  const profiler = profilerOf(found);
  const rows = (time: "running" | "waiting" | "wall") =>
    flat(profiler.profile({ ...EVERYTHING, time })).map((row) => [
      profiler.functions[row.fn].name,
      row.self,
      row.total,
      row.samples,
    ]);

  test("is what the views count", () => {
    expect(found.recordings).toBe(3);
    expect(found.recording.meta.file).toBe("host a");
    expect(rows("running")).toEqual([
      ["work ü", 2 ** 40 + 5, 2 ** 40 + 5, 1001],
      ["main", 10, 2 ** 40 + 15, 1],
      ["[undecodable]", 7, 7, 2],
    ]);
    expect(rows("waiting")).toEqual([
      ["work ü", 1, 1, 1],
      ["main", 0, 1, 0],
    ]);
    expect(profiler.profile(EVERYTHING).total).toBe(2 ** 40 + 23);
  });

  test("has no parts but running and waiting", () => {
    const cut = { ...EVERYTHING, from: 1, to: 2, threads: [7] };
    expect(profiler.profile(cut).total).toBe(2 ** 40 + 23);
  });
});
