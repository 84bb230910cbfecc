/** Every call: the table adds up as the report does, and calls are drawn over time. */

import { expect, open, report, test } from "../sonde";

const NAME = "flow";

test("the numbers are those of the report", async ({ page, served }) => {
  await open(page, await served(NAME), "flow", "flow.form=functions");
  const { rows } = report(NAME, "flow", "--flat");
  const fib = rows.find((row: any) => row.name === "fib");
  const row = page
    .locator(".view.flow .row")
    .filter({ has: page.locator("bdi.name", { hasText: /^fib$/ }) });
  await page.locator("input[type=search]").first().fill("fib");
  await expect(row).toHaveCount(1);
  const cells = row.locator("[role=cell]");
  await expect(cells.nth(0)).toHaveAttribute(
    "title",
    new RegExp(`^${fib.total} ns`),
  );
  await expect(cells.nth(1)).toHaveAttribute(
    "title",
    new RegExp(`^${fib.base} ns`),
  );
  const numbers = await cells.allTextContents();
  expect(
    numbers.slice(2, 6).map((text) => Number(text.replace(/,/g, ""))),
  ).toEqual([fib.calls, fib.callees, fib.recursion, fib.exceptions]);
});

test("the tree opens, and calls over time are zoomed and named", async ({
  page,
  served,
}) => {
  await open(page, await served(NAME), "flow");
  const { total } = report(NAME, "flow");
  await expect(page.locator(".view.flow .total strong")).toHaveAttribute(
    "title",
    String(total),
  );
  await page
    .locator(".view.flow [role=columnheader]", { hasText: "calls" })
    .first()
    .click();
  await page.getByRole("button", { name: "over time" }).click();
  const trace = page.locator(".trace");
  await expect(trace.locator("canvas")).toBeVisible();
  const box = (await trace.boundingBox())!;
  await page.mouse.move(box.x + 120 + (box.width - 120) / 2, box.y + 22 + 9);
  await expect(page.locator(".band .call")).toContainText("from");
  await trace.focus();
  await page.keyboard.press("+");
  await expect(page).toHaveURL(/flow.window=\d+-\d+/);
  await page.keyboard.press("0");
});

test("without a call flow there is no such view", async ({ page, served }) => {
  await open(page, await served("shop"), "flame");
  await expect(page.getByRole("link", { name: "Flow" })).toHaveCount(0);
});
