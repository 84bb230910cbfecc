import { describe, expect, test } from "vitest";
import { synthetic } from "../../src/data/synthetic";
import {
  count,
  duration,
  percent,
  sourceLocation,
  printable,
  shorten,
} from "../../src/elements/format";
import { concurrency } from "../../src/page/concurrency";
import { fromHash, START, toHash, type State } from "../../src/shell/state";

describe("the address", () => {
  test("holds all of the state", () => {
    const state: State = {
      view: "flame",
      time: "wall",
      threads: [1, 5],
      processes: [0],
      span: 4,
      task: 2,
      from: 1_500_000_000,
      to: 2_500_000_000,
      search: "a&b=c #ü",
      focus: [3, 1],
      hide: [7],
      collapse: [9],
      mine: true,
      settings: { "flame.zoom": "12", "source.file": "/a b/ü.py" },
    };
    expect(fromHash(`#${toHash(state)}`)).toEqual(state);
  });

  test("is empty at the start", () => {
    expect(toHash(START)).toBe("");
    expect(fromHash("")).toEqual(START);
  });

  test("nonsense means nothing", () => {
    const state = fromHash(
      "#time=never&threads=a.-1&span=x&from=-3&to=1e9&focus=x&__proto__=1&nonsense=2",
    );
    expect(state).toEqual(START);
  });
});

describe("words", () => {
  test("durations, as in the reports", () => {
    const examples = [
      [0, "0 s"],
      [999, "999 ns"],
      [1234, "1.23 µs"],
      [999_700, "1.00 ms"],
      [12_345_678, "12.3 ms"],
      [119e9, "119 s"],
      [125e9, "2 min 5 s"],
      [12_000e9, "3 h 20 min"],
      [-5e6, "-5.00 ms"],
    ] as const;
    for (const [ns, text] of examples) expect(duration(ns)).toBe(text);
  });

  test("shares and counts", () => {
    expect(percent(0.4236)).toBe("42.4 %");
    expect(percent(0.0001)).toBe("< 0.1 %");
    expect(percent(0)).toBe("0.0 %");
    expect(count(1, "sample")).toBe("1 sample");
    expect(count(12_000, "sample")).toBe("12,000 samples");
  });

  test("names from strangers", () => {
    expect(printable("a\u202eb\u0000")).toBe("a\\u202eb\\u0000");
    expect(shorten("x".repeat(10_000), 21)).toBe(
      `${"x".repeat(10)}…${"x".repeat(10)}`,
    );
    expect(sourceLocation("/usr/lib/python3.13/json/decoder.py", 12)).toBe(
      "json/decoder.py:12",
    );
  });
});

test("the strip counts threads that ran and waited", async () => {
  const samples = await synthetic().samples();
  const mask = new Uint8Array([1, 1, 1]);
  const { running, waiting } = concurrency(samples, null, mask, 10, 100e6);
  const sum = (values: Float64Array) => values.reduce((a, b) => a + b, 0) * 10;
  expect(sum(running)).toBeCloseTo(145);
  expect(sum(waiting)).toBeCloseTo(70);
  expect(waiting[2]).toBeCloseTo(1);
});
