/** The diff: what both reports say, side by side; overlap and coverage counted once more. */

import type { Page } from "@playwright/test";
import {
  compared,
  expect,
  open,
  report,
  test,
  type RecordingName,
} from "../sonde";

interface Node {
  id: number;
  parent: number | null;
  name: string;
  file: string;
  first_line: number;
  line: number;
  self: number;
}

/** Self time by path of functions from the root: the weights of the edges of one tree. */
function edges(name: RecordingName, ...options: string[]): Map<string, number> {
  const nodes: Node[] = report(name, "tree", "--merge-lines", ...options).nodes;
  const paths = new Map<number, string>();
  const found = new Map<string, number>();
  for (const node of nodes) {
    const above = node.parent === null ? "" : paths.get(node.parent)!;
    const path = `${above}\n${node.name} ${node.file}:${node.first_line ?? node.line}`;
    paths.set(node.id, path);
    found.set(path, (found.get(path) ?? 0) + node.self);
  }
  return found;
}

function overlap(a: Map<string, number>, b: Map<string, number>): number {
  const all = (edges: Map<string, number>) =>
    [...edges.values()].reduce((x, y) => x + y, 0);
  let found = 0;
  for (const [edge, weight] of a) {
    found += Math.min(weight / all(a), (b.get(edge) ?? 0) / all(b));
  }
  return found;
}

function hot(edges: Map<string, number>, threshold: number): Set<string> {
  const most = Math.max(...edges.values());
  return new Set(
    [...edges].filter(([, w]) => w >= threshold * most).map(([edge]) => edge),
  );
}

function cover(by: Set<string>, of: Set<string>): number {
  return [...of].filter((edge) => by.has(edge)).length / of.size;
}

async function measure(page: Page, id: string): Promise<number> {
  const value = page.locator(`[data-measure="${id}"]`);
  await expect(value).toBeVisible();
  return Number(await value.getAttribute("data-value"));
}

test("overlap and hot-edge coverage of two recordings", async ({
  page,
  served,
}) => {
  await open(page, await served("shop", "repaired"), "diff");
  const [base, fresh] = [edges("shop"), edges("repaired")];
  expect(await measure(page, "overlap")).toBeCloseTo(overlap(base, fresh), 9);
  for (const threshold of [0.1, 0.4]) {
    await page
      .getByLabel("Threshold of hot edges")
      .selectOption(String(threshold));
    const [inBase, inFresh] = [hot(base, threshold), hot(fresh, threshold)];
    await expect
      .poll(() => measure(page, "base_by_new"))
      .toBeCloseTo(cover(inFresh, inBase), 9);
    expect(await measure(page, "new_by_base")).toBeCloseTo(
      cover(inBase, inFresh),
      9,
    );
  }
});

test("the table: the self time in both reports", async ({ page, served }) => {
  await open(page, await served("shop", "repaired"), "diff");
  await expect(page.locator(".diff-rows .row").first()).toBeVisible();
  const self = (name: RecordingName) => {
    const found = new Map<string, number>();
    for (const row of report(name, "flat").rows) {
      found.set(`${row.name} ${row.file}:${row.line}`, row.self);
    }
    return found;
  };
  const [base, fresh] = [self("shop"), self("repaired")];
  const changes = [...new Set([...base.keys(), ...fresh.keys()])]
    .map((key) => [base.get(key) ?? 0, fresh.get(key) ?? 0] as const)
    .filter(([a, b]) => a || b)
    .sort((a, b) => Math.abs(b[1] - b[0]) - Math.abs(a[1] - a[0]))
    .map(([a, b]) => `${a} ${b} ${b - a}`);
  const seen = await page.locator(".diff-rows .row").evaluateAll((rows) =>
    rows.map((row) => {
      const { base, new: fresh, delta } = (row as HTMLElement).dataset;
      return `${base} ${fresh} ${delta}`;
    }),
  );
  expect(seen.length).toBeGreaterThan(3);
  expect(seen.slice(0, 8)).toEqual(changes.slice(0, seen.length).slice(0, 8));
});

test("the rows and measures of sonde diff", async ({ page, served }) => {
  const reported = compared("shop", "repaired");
  await open(page, await served("shop", "repaired"), "diff");
  expect(await measure(page, "overlap")).toBeCloseTo(reported.overlap, 9);
  for (const id of ["base_by_new", "new_by_base"])
    expect(await measure(page, id)).toBeCloseTo(
      reported.hot_edge_coverage[id],
      9,
    );
  const seen = await page.locator(".diff-rows .row").evaluateAll((rows) =>
    rows.map((row) => {
      const { base, new: fresh, delta } = (row as HTMLElement).dataset;
      const name = row.querySelector("bdi.name")!.textContent;
      return `${name} ${base} ${fresh} ${delta}`;
    }),
  );
  expect(seen.length).toBeGreaterThan(3);
  const rows: { name: string; base: number; new: number; delta: number }[] =
    reported.rows;
  expect(seen).toEqual(
    rows
      .slice(0, seen.length)
      .map((row) => `${row.name} ${row.base} ${row.new} ${row.delta}`),
  );
});

test("base and new exchanged", async ({ page, served }) => {
  await open(page, await served("shop", "repaired"), "diff");
  const first = page.locator(".diff-rows .row").first();
  await expect(first).toBeVisible();
  const delta = Number(await first.getAttribute("data-delta"));
  await page.getByRole("button", { name: "Swap base and new" }).click();
  await expect(first).toHaveAttribute("data-delta", String(-delta));
});

test("two ranges of one recording", async ({ page, served }) => {
  await open(page, await served("shop"), "diff");
  await expect(page.locator("main")).toContainText("new.sonde");
  await page.getByRole("button", { name: "first half" }).click();
  const half = Math.round(report("shop", "summary").duration_ns / 2);
  const seconds = String(half / 1e9);
  const [base, fresh] = [
    edges("shop", "--to", seconds),
    edges("shop", "--from", seconds),
  ];
  await expect
    .poll(() => measure(page, "overlap"))
    .toBeCloseTo(overlap(base, fresh), 9);
});
