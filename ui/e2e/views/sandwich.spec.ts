/** The table of functions with callers and callees. */

import { ns, rows } from "../figures";
import { expect, open, report, test } from "../sonde";

for (const [state, options] of [
  ["", []],
  ["time=wall", ["--wall"]],
  ["time=waiting&from=200000000", ["--waiting", "--from", "0.2"]],
] as const) {
  test(`the table is flat ${options.join(" ")}`, async ({ page, served }) => {
    await open(page, await served("shop"), "sandwich", state);
    await expect(page.locator(".row").first()).toBeVisible();
    const reported = report("shop", "flat", ...options).rows;
    const shown = await rows(page);
    expect(shown.length).toBeGreaterThan(3);
    expect(shown).toEqual(
      reported.slice(0, shown.length).map((row: any) => ({
        name: row.name,
        first: row.self,
        second: row.total,
        samples: row.samples,
      })),
    );
  });
}

test("the hottest function is chosen at first, and in sight", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "sandwich");
  const chosen = page.locator(".row[aria-selected=true]");
  await expect(chosen).toBeVisible();
  const head = (await page.locator(".functions .head").boundingBox())!;
  // To Playwright a row is visible even where the head of the table covers it.
  await expect
    .poll(async () => (await chosen.boundingBox())?.y ?? 0)
    .toBeGreaterThanOrEqual(head.y + head.height - 1);
});

test("sorts by every column, both ways", async ({ page, served }) => {
  await open(page, await served("shop"), "sandwich");
  await expect(page.locator(".row").first()).toBeVisible();
  for (const [label, key] of [
    ["total", "second"],
    ["samples", "samples"],
  ] as const) {
    await page.getByRole("button", { name: label }).click();
    await expect(page).toHaveURL(new RegExp(`sandwich.sort=${label}`));
    const falling = (await rows(page)).map((row) => row[key]);
    expect(falling).toEqual([...falling].sort((a, b) => b - a));
    await page.getByRole("button", { name: label }).click();
    await expect(page).toHaveURL(new RegExp(`sandwich.sort=-${label}`));
    const rising = (await rows(page)).map((row) => row[key]);
    expect(rising).toEqual([...rising].sort((a, b) => a - b));
  }
  await page.getByRole("button", { name: "function" }).click();
  await expect(page).toHaveURL(/sandwich.sort=name/);
  const names = (await rows(page)).map((row) => row.name);
  expect(names).toEqual([...names].sort((a, b) => (a < b ? -1 : 1)));
});

test("callers and callees of a recursive function have its total", async ({
  page,
  served,
}) => {
  await open(page, await served("everything"), "sandwich");
  const reported = report("everything", "flat").rows;
  const fib = reported.find((row: any) => row.name === "fib");
  await page.locator(".row", { hasText: "fib" }).click();
  await expect(page.locator(".chosen-function .name")).toHaveText("fib");
  await expect(page.locator(".row.selected")).toContainText("fib");
  for (const side of [0, 1]) {
    const icicle = page.locator(".bread .icicle").nth(side);
    await icicle.focus();
    await page.keyboard.press(side ? "ArrowDown" : "ArrowUp");
    await expect(page.locator(".band .name")).toHaveText("fib");
    await expect.poll(() => ns(page.locator(".band .total"))).toBe(fib.total);
  }
});

test("search narrows the table, arrows walk it", async ({ page, served }) => {
  await open(page, await served("everything"), "sandwich");
  await page.locator("#search").fill("parse");
  await expect(page.locator(".row")).toHaveCount(1);
  await page.locator("#search").fill("");
  await expect(page.locator(".row").nth(2)).toBeVisible();
  await page.locator(".rows").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  const { rows: reported } = report("everything", "flat");
  await expect(page.locator(".chosen-function .name")).toHaveText(
    reported[1].name,
  );
});
