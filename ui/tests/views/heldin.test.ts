import { describe, expect, test } from "vitest";
import {
  AFTER_RELEASE,
  OWNER_RELEASED,
  RUNNING,
  WAITING,
} from "../../src/data/recording";
import { synthetic } from "../../src/data/synthetic";
import { totalOf } from "../../src/views/locks/groups";
import { HolderProfile, RELEASED } from "../../src/views/locks/heldin";
import { label } from "../../src/views/locks/labels";
import { AspectColumns, select } from "../../src/views/locks/parts";
import { RowTree } from "../../src/views/locks/rows";

const MS = 1_000_000;
const ALL = Uint8Array.of(1, 1, 1);
/** Contexts of the synthetic recording, and the functions they end in. */
const WORK = 2;
const FIB = 3;
const ENTER = 10;
const CACHE_GET = 4;

/** Thread 0 holds lock 1 for 16 ms, 20 times: 4 ms in `work`, on CPU, 12 ms in a lock, off CPU. */
function holds(kind: number, waitsRecorded: boolean) {
  const samples: number[][] = [];
  const waits: number[][] = [];
  for (let hold = 0; hold < 20; hold++) {
    const at = hold * 20;
    for (let tick = 1; tick <= 4; tick++)
      samples.push([0, at + tick, WORK, 1, RUNNING]);
    if (waitsRecorded) samples.push([0, at + 16, ENTER, 12, WAITING]);
    samples.push([0, at + 18, FIB, 1, RUNNING]);
    waits.push([2 * hold, 1, at, at + 16, 1, kind, 10, 2, 4, 2, 0, 0]);
    waits.push([2 * hold + 1, 2, at + 8, at + 16, 1, kind, 10, 2, 4, 2, 0, 0]);
  }
  return synthetic({ samples, waits });
}

async function split(
  recording = holds(1, true),
  from: number | null = null,
  to: number | null = null,
) {
  const waits = await recording.waits();
  const held = new HolderProfile(recording, await recording.samples(), waits);
  const parts = select(waits, ALL, from, to);
  const groups = held.split(parts, parts.rows, "held_in_function");
  return Object.fromEntries(
    groups.map((group) => [group.value, group.wait_ns / MS]),
  );
}

describe("what holders did", () => {
  test("on-CPU time by samples, off-CPU time exactly", async () => {
    expect(await split()).toEqual({ [WORK]: 80, [CACHE_GET]: 400 });
  });

  test("without waits the off-CPU time is unknown", async () => {
    expect(await split(holds(1, false))).toEqual({ [WORK]: 80, "-1": 400 });
  });

  test("whoever holds the GIL is on CPU", async () => {
    expect(await split(holds(0, false))).toEqual({ [WORK]: 480 });
  });

  test("in a range of time", async () => {
    // Two holds: too few samples for their on-CPU time.
    expect(await split(holds(1, true), 0, 40 * MS)).toEqual({
      [CACHE_GET]: 40,
      "-1": 8,
    });
  });

  test("after a release no thread holds it", async () => {
    const recording = synthetic({
      samples: [[0, 20, ENTER, 20, WAITING]],
      waits: [
        [0, 1, 0, 10, 1, 1, 10, 8, 4, 2, 2, 0],
        [0, 1, 10, 30, 1, 1, 10, 2, 4, 2, 0, 0, -1, AFTER_RELEASE],
        [0, 1, 30, 33, 1, 1, 10, 2, 4, 2, 0, 0, -1, OWNER_RELEASED],
      ],
    });
    expect(await split(recording)).toEqual({ "-1": 20, [RELEASED]: 13 });
  });

  test("as the last level of the rows, with labels", async () => {
    const recording = holds(1, true);
    const waits = await recording.waits();
    const columns = new AspectColumns(recording, waits);
    const parts = select(waits, ALL, null, null);
    const held = new HolderProfile(recording, await recording.samples(), waits);
    const by = ["lock_class", "held_in_chain"] as const;
    const all = totalOf(waits, parts);
    const rows = new RowTree(waits, parts, columns, by, all, held);
    const top = rows.top[0]!;
    expect(label(recording, waits, "lock_class", top.group).text).toBe(
      "Cache._lock",
    );
    const labels = rows
      .children(top)
      .map(({ group }) => label(recording, waits, "held_in_chain", group));
    expect(labels.map((one) => one.verb)).toEqual(["holder in", "holder in"]);
    expect(labels[1]!.text).toContain("work");
    expect(rows.children(top)[1]!.group.samples).toBe(80);
  });
});
