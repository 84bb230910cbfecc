import { expect, test } from "vitest";
import { synthetic } from "../../src/data/synthetic";
import { Profiler } from "../../src/profile/profile";
import { EVERYTHING } from "../../src/profile/selection";
import { layout, MIN_WIDTH, Order } from "../../src/views/flame/layout";

async function made() {
  const recording = synthetic();
  const profiler = new Profiler(recording, await recording.samples());
  return profiler.profile({ ...EVERYTHING, time: "wall" });
}

test("frames are as wide as their share, below their callers", async () => {
  const profile = await made();
  const tree = profile.tree(true);
  const order = new Order(tree);
  const rows = layout(order, order.interval(-1), 1000);
  const wide = (row: (typeof rows)[number]) =>
    row.boxes.reduce((sum, box) => sum + box.width, 0);
  expect(wide(rows[0])).toBeCloseTo(1000);
  for (const [depth, row] of rows.entries()) {
    for (const box of row.boxes) {
      expect(box.width).toBeCloseTo(
        (tree.total[box.node] / profile.total) * 1000,
      );
      expect(tree.depth[box.node]).toBe(depth);
      const parent = tree.parent[box.node];
      if (parent < 0) continue;
      const above = rows[depth - 1].boxes.find((one) => one.node === parent)!;
      expect(box.x).toBeGreaterThanOrEqual(above.x - 1e-6);
      expect(box.x + box.width).toBeLessThanOrEqual(
        above.x + above.width + 1e-6,
      );
    }
  }
});

test("zoomed, a frame and its callers take the whole width", async () => {
  const tree = (await made()).tree(true);
  const order = new Order(tree);
  for (let node = 0; node < tree.size; node++) {
    const rows = layout(order, order.interval(node), 800);
    for (let at = node; at >= 0; at = tree.parent[at]) {
      const row = rows[tree.depth[at]];
      const box = row.boxes.find((one) => one.node === at)!;
      expect(box.x).toBeCloseTo(0);
      expect(box.width).toBeCloseTo(800);
    }
  }
});

test("what is too narrow to draw is still there", async () => {
  const tree = (await made()).tree(true);
  const order = new Order(tree);
  const rows = layout(order, order.interval(-1), MIN_WIDTH * 3);
  expect(rows[0].boxes.length).toBeLessThan(3);
  expect(rows[0].dust.length).toBeLessThanOrEqual(1);
});
