import { expect, test } from "vitest";
import { synthetic } from "../../src/data/synthetic";
import {
  lossByThread,
  totalLoss,
  lossText,
} from "../../src/views/timeline/lanes/cpuloss";

const MS = 1_000_000;
const step = (thread: number, queue: number, quota: number) => ({
  thread,
  start: 0,
  end: 100 * MS,
  queue: queue * MS,
  quota: quota * MS,
  hypervisor: 0,
});

test("steps of a thread add up, by thief", () => {
  const lost = lossByThread(
    synthetic({ cpuLoss: [step(1, 20, 0), step(1, 5, 30)] }),
  );
  expect(lost[1]).toEqual({ queue: 25 * MS, quota: 30 * MS, hypervisor: 0 });
  expect(totalLoss(lost[1]!)).toBe(55 * MS);
  expect(totalLoss(lost[0]!)).toBe(0);
});

test("words name only those who took something", () => {
  expect(lossText({ queue: 25 * MS, quota: 0, hypervisor: 2 * MS })).toBe(
    "run-queue latency 25.0 ms, steal time 2.00 ms",
  );
  expect(lossText({ queue: 0, quota: 0, hypervisor: 0 })).toBe("");
});

test("a step of a thread that is not there is left out", () => {
  expect(
    lossByThread(synthetic({ cpuLoss: [step(99, 1, 1)] })).map(totalLoss),
  ).toEqual([0, 0, 0]);
});
