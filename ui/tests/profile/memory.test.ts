/** Bytes by calling context, and how much is alive over time. */

import { expect, test } from "vitest";
import { UNKNOWN } from "../../src/data/recording";
import { synthetic } from "../../src/data/synthetic";
import { aliveOver, sumObjects } from "../../src/profile/memory";
import { EVERYTHING } from "../../src/profile/selection";

const MS = 1_000_000;
const recording = synthetic({
  objects: [
    [0, -5, UNKNOWN, 2, 1], // from before
    [0, 10, 30, 2, 10],
    [1, 20, UNKNOWN, 9, 100],
    [2, 60, 1, UNKNOWN, 1000],
  ],
});

async function sums(
  memory: "alive" | "allocated",
  change: Partial<typeof EVERYTHING> = {},
) {
  const objects = await recording.objects();
  const found = sumObjects(
    recording,
    objects,
    { ...EVERYTHING, ...change },
    memory,
  );
  return [
    found.running[2],
    found.running[9],
    found.running[found.running.length - 1],
  ];
}

test("allocated in the selected time, not before the recording", async () => {
  expect(await sums("allocated")).toEqual([10, 100, 1000]);
  expect(await sums("allocated", { from: 15 * MS })).toEqual([0, 100, 1000]);
  expect(await sums("allocated", { to: 60 * MS })).toEqual([10, 100, 0]);
  expect(await sums("allocated", { threads: [0] })).toEqual([10, 0, 0]);
});

test("alive at the end of the selected time", async () => {
  expect(await sums("alive")).toEqual([1, 100, 0]);
  expect(await sums("alive", { to: 39 * MS })).toEqual([11, 100, 0]);
  expect(await sums("alive", { to: 40 * MS })).toEqual([1, 100, 0]);
  expect(await sums("alive", { to: 60 * MS })).toEqual([1, 100, 1000]);
});

test("over time it is what is alive at the end of each part", async () => {
  const objects = await recording.objects();
  const found = aliveOver(recording, objects, EVERYTHING, 10);
  expect([...found]).toEqual([
    11, 111, 111, 101, 101, 1101, 101, 101, 101, 101,
  ]);
});
