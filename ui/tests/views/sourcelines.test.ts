import { expect, test } from "vitest";
import { synthetic, type Changes } from "../../src/data/synthetic";
import { Profiler } from "../../src/profile/profile";
import { EVERYTHING } from "../../src/profile/selection";
import { files } from "../../src/views/source/lines";

async function made(
  time: "running" | "waiting" | "wall" = "running",
  changes: Changes = {},
) {
  const recording = synthetic(changes);
  const profiler = new Profiler(recording, await recording.samples());
  const profile = profiler.profile({ ...EVERYTHING, time });
  return files(profile.tree(false), profile.functions);
}

async function lineTimes(time: "running" | "waiting" | "wall") {
  const found: Record<string, [number, number]> = {};
  for (const file of await made(time)) {
    for (const line of file.lines.values()) {
      const place = `${file.file}:${line.line}`;
      found[place] = [line.self / 1e6, line.total / 1e6];
    }
  }
  return found;
}

test("self and total time of lines, recursion counted once", async () => {
  expect(await lineTimes("running")).toEqual({
    "/app/main.py:3": [0, 60],
    "/app/main.py:12": [0, 60],
    "/app/work.py:6": [30, 125],
    "/app/work.py:21": [10, 40],
    "/app/work.py:22": [30, 30],
    "/app/work.py:7": [10, 10],
    "/app/cache.py:43": [55, 55],
    "/lib/threading.py:1001": [0, 75],
  });
});

test("the time of a built-in function is the calling line's", async () => {
  const found = await lineTimes("waiting");
  expect(found["/app/cache.py:43"]).toEqual([25, 25]);
  expect(found["<built-in>:0"]).toBeUndefined();
});

test("files by self time; a file on a stack twice counts once", async () => {
  const found = (await made()).map((file) => [
    file.file,
    file.self / 1e6,
    file.total / 1e6,
  ]);
  expect(found).toEqual([
    ["/app/work.py", 80, 135],
    ["/app/cache.py", 55, 55],
    ["/lib/threading.py", 0, 75],
    ["/app/main.py", 0, 60],
  ]);
});

test("nothing recorded, nothing shown", async () => {
  expect(await made("wall", { samples: [] })).toEqual([]);
});
