/** Bytes of objects: the flame graph is of what was alive, as the report has it. */

import { expect, open, report, test } from "../sonde";
import type { Page } from "@playwright/test";

const NAME = "objects";

/** Bytes that the page writes above the graph. */
async function shown(page: Page): Promise<number> {
  const strong = page.locator(".view.memory .tools .total strong");
  return Number((await strong.getAttribute("title"))!.split(" ")[0]);
}

/** Each sample is rounded to whole bytes. */
async function expectBytes(page: Page, bytes: number, samples: number) {
  await expect
    .poll(async () => Math.abs((await shown(page)) - bytes))
    .toBeLessThanOrEqual(samples);
}

test("what is alive, and what was allocated", async ({ page, served }) => {
  const { live_bytes, estimated_bytes, count } = report(
    NAME,
    "objects",
    "--by",
    "site",
  );
  await open(page, await served(NAME), "memory");
  await expectBytes(page, live_bytes, count);
  await page.getByRole("button", { name: "allocated" }).click();
  await expectBytes(page, estimated_bytes, count);
  await page.getByRole("button", { name: "alive" }).click();
  await page.locator(".icicle").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(page.locator(".band .name")).toHaveText("keep");
  await expect(page.locator(".band .total")).toContainText("MiB");
});

test("brushing the strip shows what was alive then", async ({
  page,
  served,
}) => {
  await open(page, await served(NAME), "memory");
  const strip = page.locator(".strip");
  await expect(strip.locator(".legend")).toContainText("memory alive, up to");
  const box = (await strip.boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.2, box.y + box.height - 6);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height - 6);
  await page.mouse.up();
  await expect(page.locator(".view.memory .tools")).toContainText(
    "alive after",
  );
  const to = Number(
    await page.evaluate(() =>
      new URLSearchParams(location.hash.slice(1)).get("to"),
    ),
  );
  const { estimated_bytes, count } = report(
    NAME,
    "objects",
    "--at",
    String(to / 1e9),
  );
  expect(count).toBeGreaterThan(0);
  await expectBytes(page, estimated_bytes, count);
});

test("without objects there is no such view", async ({ page, served }) => {
  await open(page, await served("shop"), "flame");
  await expect(page.getByRole("link", { name: "Memory" })).toHaveCount(0);
  await expect(page.locator(".strip .legend")).not.toContainText("memory");
});
