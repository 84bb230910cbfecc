import { expect, test } from "vitest";
import { synthetic } from "../../src/data/synthetic";
import { blockers } from "../../src/views/overview/blockers";
import { evidence } from "../../src/views/overview/evidence";
import { objectRows } from "../../src/views/overview/quality";
import {
  shares,
  targetSentence,
  timeSentence,
} from "../../src/views/overview/summary";

const MS = 1_000_000;

test("what ran, and where its time went", () => {
  const recording = synthetic();
  expect(targetSentence(recording)).toBe(
    "main.py was recorded for 100 ms under CPython 3.13.0, 3 threads.",
  );
  expect(timeSentence(recording.meta)).toBe(
    "It used 165 ms of CPU time, 165 % of one core, and its threads waited " +
      "41.0 ms for locks, 4.00 ms for the GIL and 30.0 ms for notifications (queues, events, joins).",
  );
});

test("a recording without waits says nothing of them", () => {
  const { meta } = synthetic();
  const alone = { ...meta, summary: { cpu_ns: 50 * MS, wait_ns: {} } };
  expect(timeSentence(alone)).toBe(
    "It used 50.0 ms of CPU time, 50 % of one core.",
  );
});

test("how good the samples of objects are", () => {
  const facts = {
    objects_taken: 2_000,
    objects_lost: 3,
    object_agent_ns: MS,
    object_cost: 0.001,
    objects_without_type: 4,
    objects_not_followed: 5,
    object_ends_lost: 1,
    objects_at_least: 7,
    object_types_at_least: ["dict", "list"],
  };
  expect(objectRows(facts)).toEqual([
    [
      "Objects",
      "2,000 samples taken, 3 lost, 4 without a class, 1 end lost, " +
        "5 not followed to their end; sampling took 1.00 ms, 0.10 % of the CPU time",
    ],
    [
      "Lower bounds",
      "7 object samples of dict, list: free lists hide some of their allocations",
    ],
  ]);
  expect(objectRows({ taken: 10, lost: 0 })).toEqual([]);
});

test("what is left of the threads' lives was not recorded", () => {
  const parts = shares(10, { gil: 5, lock: 3, rlock: 2, queue: 4 }, 40);
  expect(parts.map(({ name, ns }) => [name, ns])).toEqual([
    ["on CPU", 10],
    ["waiting for the GIL", 5],
    ["waiting for locks", 5],
    ["waiting for a notification (queue, event, join)", 4],
    ["not recorded", 16],
  ]);
});

test("who makes others wait; a wait for a notification is attributed to none", async () => {
  const recording = synthetic();
  const found = blockers(await recording.waits()).map(({ fn, ns, waits }) => [
    fn < 0 ? null : recording.functions[fn].name,
    ns / MS,
    waits,
  ]);
  expect(found).toEqual([
    ["work", 41, 2],
    ["fib", 3, 1],
    [null, 1, 1],
  ]);
});

test("the command of a finding leads to a view", () => {
  const recording = synthetic();
  expect(
    evidence(
      recording,
      "sonde report 'my app.sonde' flat --top 10",
      "fib is hot",
    ),
  ).toEqual({
    view: "sandwich",
    time: "running",
    settings: { "sandwich.fn": "3" },
  });
  expect(
    evidence(
      recording,
      "sonde report a.sonde locks --by lock,owner_chain,waiter_chain",
      "a convoy",
    ),
  ).toMatchObject({
    view: "locks",
    settings: { "locks.by": "lock,owner_chain,waiter_chain" },
  });
  expect(
    evidence(
      recording,
      "sonde report a.sonde tree --waiting --merge-lines",
      "most off-CPU time is in fib",
    ),
  ).toMatchObject({ view: "flame", time: "waiting" });
  const mine = evidence(recording, "sonde report a.sonde flat --mine", "hot");
  expect(mine).toMatchObject({ view: "flame", mine: true });
  expect(evidence(recording, "sonde report a.sonde quality", "bad")).toBeNull();
});

test("a last kind of waiting is named, several are summed up", () => {
  const { meta } = synthetic();
  const waited = (wait_ns: Record<string, number>) =>
    timeSentence({ ...meta, summary: { ...meta.summary, wait_ns } });
  const kinds = { waiting: 50 * MS, preempted: 40 * MS, rlock: 30 * MS };
  expect(waited({ ...kinds, monitor: 20 * MS })).toContain(
    "20.0 ms for monitors",
  );
  expect(waited({ ...kinds, monitor: 20 * MS, io: 10 * MS })).toContain(
    "30.0 ms for other reasons",
  );
});
