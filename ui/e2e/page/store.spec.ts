/** The page of a store of real recordings: the map, its cells, their trees and differences. */

import type { Page } from "@playwright/test";
import {
  boxOf,
  heatOf,
  type Heat,
  type HeatJson,
} from "../../src/store/heatgrid";
import { ns } from "../figures";
import { expect, HOSTILE_HOST, open, test } from "../sonde";

/** The map as the server sends it, for the query of the page. */
async function mapOf(page: Page, act: () => Promise<unknown>): Promise<Heat> {
  const answer = page.waitForResponse((one) => one.url().includes("/s/heat?"));
  await act();
  const url = (await answer).url();
  const reported: HeatJson = await page.evaluate(async (address) => {
    const packed = (await fetch(address)).body!;
    const plain = packed.pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(plain).json();
  }, url);
  return heatOf(reported);
}

/** Clicks a cell by where it is drawn. */
async function click(
  page: Page,
  heat: Heat,
  row: number,
  column: number,
  options: { modifiers?: "Shift"[] } = {},
): Promise<void> {
  const cells = page.locator(".heat-cells");
  await cells.scrollIntoViewIfNeeded();
  const { width } = (await cells.boundingBox())!;
  const box = boxOf(heat, width, { row, column });
  const position = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  await cells.click({ position, ...options });
}

/** The full cells of a row: where it spent something. */
function full(heat: Heat, row: number): number[] {
  return heat.rows[row].cells.flatMap((ns, column) => (ns ? [column] : []));
}

/** The options of `sonde fleet report` that choose a cell. */
function optionsOf(heat: Heat, row: number, column: number): string[] {
  const iso = (ms: number) => new Date(ms).toISOString().slice(0, 23);
  const from = heat.begin + column * heat.step;
  return [
    "--where",
    `${heat.by}=${heat.rows[row].value}`,
    "--from",
    iso(from),
    "--to",
    iso(from + heat.step),
  ];
}

const total = (page: Page) => page.locator("main .tools .total strong");

test("all of it: the tree of sonde fleet report", async ({
  page,
  shelved,
  fleet,
}) => {
  const reported = await fleet("tree", "--wall");
  await open(page, await shelved(), "flame", "time=wall");
  await expect.poll(() => ns(total(page))).toBe(reported.total);
  await expect(page.locator(".heading")).toContainText("4 recordings");
  // As the sandwich's table has it, function by function.
  await page.getByRole("link", { name: "Sandwich" }).click();
  const rows = (await fleet("flat", "--wall")).rows.slice(0, 8);
  await expect(page.locator("main .row").first()).toBeVisible();
  const seen = await page.locator("main .row").evaluateAll((found) =>
    found.slice(0, 8).map((row) => {
      const [self, all] = [...row.querySelectorAll(".share")].map((cell) =>
        parseInt(cell.getAttribute("title")!, 10),
      );
      return `${row.querySelector("bdi.name")!.textContent} ${self} ${all}`;
    }),
  );
  expect(seen).toEqual(
    rows.map((row: any) => `${row.name} ${row.self} ${row.total}`),
  );
});

test("a cell: its flame graph; a second one: their diff", async ({
  page,
  shelved,
  fleet,
}) => {
  const url = await shelved();
  const heat = await mapOf(page, () =>
    open(page, url, "flame", "store.by=host&time=wall"),
  );
  expect(heat.rows.length).toBe(3);
  const row = heat.rows.findIndex(({ value }) => value === "a");
  const columns = full(heat, row);
  const [one, other] = [columns[1], columns.at(-2)!];
  await click(page, heat, row, one);
  const first = await fleet("flat", "--wall", ...optionsOf(heat, row, one));
  expect(first.total).toBe(heat.rows[row].cells[one]);
  await expect.poll(() => ns(total(page))).toBe(first.total);
  await expect(page.locator('[data-cell="a"]')).toContainText("host a");
  // The second one.
  await click(page, heat, row, other);
  await expect(page.locator("main")).toHaveClass(/diff/);
  const second = await fleet("flat", "--wall", ...optionsOf(heat, row, other));
  const self = (report: any) =>
    new Map<string, number>(
      report.rows.map((row: any) => [
        `${row.name} ${row.file}:${row.line}`,
        row.self,
      ]),
    );
  const [base, fresh] = [self(first), self(second)];
  const changes = [...new Set([...base.keys(), ...fresh.keys()])]
    .map((key) => (fresh.get(key) ?? 0) - (base.get(key) ?? 0))
    .map(Math.abs)
    .sort((a, b) => b - a);
  const rows = page.locator(".diff-rows .row");
  await expect(rows.first()).toBeVisible();
  const deltas = await rows.evaluateAll((found) =>
    found.map((row) => Math.abs(Number((row as HTMLElement).dataset.delta))),
  );
  expect(deltas.slice(0, 5)).toEqual(changes.slice(0, 5));
  // The address shows the same again.
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await expect(rows.first()).toHaveAttribute("data-delta", /-?\d+/);
  await expect(page.locator('[data-cell="b"]')).toBeVisible();
  // A third one begins anew, and the back button goes back.
  await click(page, heat, row, one, { modifiers: ["Shift"] });
  await expect(page.locator("main")).toHaveClass(/flame/);
  await expect.poll(() => ns(total(page))).toBe(first.total);
  await page.goBack();
  await expect(page.locator("main")).toHaveClass(/diff/);
});

test("labels choose", async ({ page, shelved, fleet }) => {
  await open(page, await shelved(), "flame");
  await page.getByRole("button", { name: /^version:/ }).click();
  await page.getByRole("button", { name: "Only 2" }).click();
  const reported = await fleet("tree", "--where", "version=2");
  await expect.poll(() => ns(total(page))).toBe(reported.total);
  await page.getByRole("button", { name: "Only (none)" }).click();
  const none = await fleet("tree", "--where", "version!=*");
  await expect.poll(() => ns(total(page))).toBe(none.total);
  await page.getByRole("button", { name: "all version" }).click();
  await page.keyboard.press("Escape");
  await expect.poll(() => ns(total(page))).toBe((await fleet("tree")).total);
});

test("rows by another label, and a closer look", async ({
  page,
  shelved,
  fleet,
}) => {
  const url = await shelved();
  await open(page, url, "flame");
  // The first map is there: the next answer is the next one's.
  await page.waitForSelector(".heat-cells[data-columns]");
  const heat = await mapOf(page, () =>
    page.getByLabel("Rows of the map").selectOption("version"),
  );
  expect(heat.rows.map(({ value }) => value).sort()).toEqual(["1", "2", null]);
  const cells = page.locator(".heat-cells");
  const box = (await cells.boundingBox())!;
  const first = boxOf(heat, box.width, { row: 0, column: 2 });
  const last = boxOf(heat, box.width, { row: 0, column: 6 });
  const y = box.y + first.height / 2;
  const nearer = await mapOf(page, async () => {
    await page.mouse.move(box.x + first.x + first.width / 2, y);
    await page.mouse.down();
    await page.mouse.move(box.x + last.x + last.width / 2, y, { steps: 4 });
    await page.mouse.up();
  });
  expect(nearer.step).toBeLessThan(heat.step);
  const from = heat.begin + 2 * heat.step;
  const to = heat.begin + 7 * heat.step;
  expect(nearer.begin).toBeGreaterThanOrEqual(from - nearer.step);
  const iso = (ms: number) => new Date(ms).toISOString().slice(0, 23);
  const reported = await fleet("tree", "--from", iso(from), "--to", iso(to));
  await expect.poll(() => ns(total(page))).toBe(reported.total);
  await page.getByRole("button", { name: "all of the time" }).click();
  await expect.poll(() => ns(total(page))).toBe((await fleet("tree")).total);
});

test("the keyboard reaches every cell", async ({ page, shelved, fleet }) => {
  const url = await shelved();
  const heat = await mapOf(page, () =>
    open(page, url, "flame", "store.by=host"),
  );
  await page.locator(".heat-cells").focus();
  const column = full(heat, 0)[0];
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  for (let i = 0; i < column; i++) await page.keyboard.press("ArrowRight");
  await expect(page.locator(".band .code")).toContainText("sonde fleet report");
  await page.keyboard.press("Enter");
  await expect.poll(() => ns(total(page))).toBe(heat.rows[0].cells[column]);
  await page.keyboard.press("Escape");
  await expect.poll(() => ns(total(page))).toBe((await fleet("tree")).total);
  await page.keyboard.press("+");
  await expect(
    page.getByRole("button", { name: "all of the time" }),
  ).toBeVisible();
  await page.keyboard.press("0");
  await expect(
    page.getByRole("button", { name: "all of the time" }),
  ).toBeHidden();
});

test("a label is text, whatever it holds", async ({ page, shelved, fleet }) => {
  await open(page, await shelved(), "flame", "store.by=host");
  const name = page.locator(".heat-names bdi", { hasText: "<img" });
  await expect(name).toHaveText(HOSTILE_HOST);
  await name.click();
  await expect
    .poll(() => ns(total(page)))
    .toBe((await fleet("tree", "--where", `host=${HOSTILE_HOST}`)).total);
  expect(await page.locator("img").count()).toBe(0);
});

test("two cells are needed for a diff, and one is enough for the rest", async ({
  page,
  shelved,
}) => {
  await open(page, await shelved(), "diff");
  await expect(page.locator("main")).toContainText("Click one, then the other");
  await page.getByRole("link", { name: "Tree" }).click();
  await expect(page.locator("main .row").first()).toBeVisible();
  await expect(page.getByRole("link", { name: "Source" })).toHaveCount(0);
});

test("dark and light", async ({ page, shelved }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, await shelved(), "flame");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByRole("button", { name: "Light colours" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
});
