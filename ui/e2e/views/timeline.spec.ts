/** The timeline: lanes, zoom, brush, and who kept whom waiting. */

import type { Page } from "@playwright/test";
import { expect, open, report, test } from "../sonde";

const LANES = "canvas.over";

async function lanes(page: Page): Promise<string[]> {
  await expect(page.locator(".screen-reader tbody tr").first()).toBeAttached();
  return page.locator(".screen-reader tbody tr").evaluateAll((rows) =>
    rows.map((row) => {
      const [cpu, gil, locks, notifications, ...rest] = [
        ...row.querySelectorAll<HTMLElement>("td"),
      ].map((cell) => Number(cell.dataset.ns));
      return [cpu, gil, locks! + notifications!, ...rest].join(" ");
    }),
  );
}

/** The same of the report; what is neither the GIL nor unexplained is of locks and notifications. */
function reported(): string[] {
  return report("shop", "threads").rows.map(
    (row: { cpu_ns: number; wait_ns: Record<string, number> }) => {
      const { gil = 0, waiting = 0, preempted = 0, ...rest } = row.wait_ns;
      (void waiting, preempted);
      const others = Object.values(rest).reduce((a, b) => a + b, 0);
      return [row.cpu_ns, gil, others, waiting, preempted].join(" ");
    },
  );
}

/** A place on the canvas, as share of its width and in pixels from the top. */
async function at(page: Page, share: number, y: number) {
  const box = (await page.locator(LANES).boundingBox())!;
  return { x: box.x + 210 + (box.width - 222) * share, y: box.y + y };
}

test("a lane per thread, with the report's times", async ({ page, served }) => {
  await open(page, await served("shop"), "timeline");
  expect((await lanes(page)).sort()).toEqual(reported().sort());
});

test("lanes sorted by what matters", async ({ page, served }) => {
  await open(page, await served("shop"), "timeline");
  const cpu = (await lanes(page)).map((row) => Number(row.split(" ")[0]));
  expect(cpu).toEqual([...cpu].sort((a, b) => b - a));
  await page.getByLabel("Sort lanes by").selectOption("name");
  // The list is drawn anew with the next frame.
  await expect(async () => {
    const names = await page
      .locator(".screen-reader tbody th")
      .allTextContents();
    const sorted = [...names].sort((a, b) =>
      a.localeCompare(b, "en", { numeric: true }),
    );
    expect(names).toEqual(sorted);
  }).toPass({ timeout: 10_000 });
});

test("the wheel zooms to microseconds, keys pan, and the address knows", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "timeline");
  await lanes(page);
  const { x, y } = await at(page, 0.5, 60);
  await page.mouse.move(x, y);
  for (let i = 0; i < 40; i++) await page.mouse.wheel(0, -300);
  // The address follows when the hand rests.
  await expect
    .poll(async () => ((at) => (at ? at[1] - at[0] : 1e9))(await span(page)))
    .toBeLessThan(20_000);
  const close = (await span(page))!;
  await page.locator(LANES).focus();
  await page.keyboard.press("ArrowRight");
  await expect
    .poll(async () => (await span(page))![0])
    .toBeGreaterThan(close[0]);
  await page.keyboard.press("0");
  await expect.poll(() => span(page)).toBeNull();
});

async function span(page: Page): Promise<[number, number] | null> {
  const text = new URL(page.url()).hash.slice(1);
  const found = /^(\d+)-(\d+)$/.exec(
    new URLSearchParams(text).get("timeline.span") ?? "",
  );
  return found && [Number(found[1]), Number(found[2])];
}

test("brushing a range filters every view", async ({ page, served }) => {
  await open(page, await served("shop"), "timeline");
  await lanes(page);
  const [a, b] = [await at(page, 0.25, 60), await at(page, 0.6, 60)];
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move(b.x, b.y, { steps: 5 });
  await page.mouse.up();
  await expect.poll(() => page.url()).toContain("from=");
  const words = new URLSearchParams(new URL(page.url()).hash.slice(1));
  const [from, to] = ["from", "to"].map((key) => Number(words.get(key))) as [
    number,
    number,
  ];
  expect(to).toBeGreaterThan(from);
  const range = ["--from", String(from / 1e9), "--to", String(to / 1e9)];
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await expect(page.locator(".lock-rows tbody tr").first()).toBeVisible();
  const seen = await page
    .locator('.lock-rows tr[aria-level="1"]')
    .evaluateAll((rows) =>
      rows.map((row) => Number((row as HTMLElement).dataset.ns)),
    );
  const rows = report("shop", "locks", ...range).rows;
  expect(seen).toEqual(rows.map((row: { wait_ns: number }) => row.wait_ns));
});

test("a wait, with those who had it meanwhile", async ({ page, served }) => {
  await open(page, await served("shop"), "timeline");
  await lanes(page);
  await page.getByLabel("Sort lanes by").selectOption("blocked");
  await page.locator(LANES).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("n");
  const words = page.locator(".selected-wait");
  await expect(words).toContainText("waited");
  await expect(words).toContainText(/held by|notified by/);
  await expect.poll(() => page.url()).toContain("timeline.wait=");
  const first = page.url();
  await page.keyboard.press("n");
  await expect.poll(() => page.url()).not.toBe(first);
  await page.keyboard.press("p");
  await expect.poll(() => page.url()).toBe(first);
  await page.keyboard.press("Escape");
  await expect(words).toBeHidden();
});

test("the longest wait of a lock is found from there", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "locks", "locks.by=lock");
  await page.getByRole("link", { name: "show it on the timeline" }).click();
  const longest = report("shop", "locks", "--by", "lock").rows[0].max_ns;
  expect(longest).toBeGreaterThan(0);
  await expect(page.locator(".selected-wait")).toContainText("waited");
  expect(await span(page)).toBeTruthy();
});

test("the bottom band shows what is under the pointer", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "timeline");
  await lanes(page);
  for (let share = 0.1; share < 1; share += 0.05) {
    const { x, y } = await at(page, share, 52);
    await page.mouse.move(x, y);
    const band = await page.locator("footer.band").innerText();
    if (/on CPU|waits|runnable/.test(band)) return;
  }
  throw new Error("nothing was shown anywhere along the first lane");
});

test("CPU loss, as in the report", async ({ page, served }) => {
  await open(page, await served("rivals"), "timeline");
  await lanes(page);
  const [reported] = report("rivals", "threads").rows;
  const taken = Object.values(
    reported.taken_ns as Record<string, number>,
  ).reduce((a, b) => a + b, 0);
  expect(taken).toBeGreaterThan(0);
  const heads = page.locator(".screen-reader thead th");
  await expect(heads.last()).toHaveText("run-queue latency, throttling, steal");
  const cell = page.locator(".screen-reader tbody tr td").last();
  expect(Number(await cell.getAttribute("data-ns"))).toBe(taken);
  await expect(
    page.locator(".states").getByText("run-queue latency, throttling, steal"),
  ).toBeVisible();
  const { x, y } = await at(page, 0, 60);
  await page.mouse.click(x - 100, y);
  await expect(page.locator(".cpu-loss")).toContainText("run-queue latency");
});
