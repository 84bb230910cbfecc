/** One file from disk, offline, shows what the server shows. */

import { pathToFileURL } from "node:url";
import { faults, VIEWS } from "../../browser.mjs";
import { expect, open, report, test, written } from "../sonde";

test("every view, without a network", async ({ browser }) => {
  const file = written("shop.html", ["shop", "repaired"], "--with-source");
  const context = await browser.newContext({ offline: true });
  const page = await context.newPage();
  const wrong = faults(page);
  for (const view of VIEWS) {
    await open(page, pathToFileURL(file).href, view);
    await expect(page.locator("main#view")).not.toBeEmpty();
    await page.waitForTimeout(200);
  }
  expect(wrong).toEqual([]);
  await context.close();
});

test("the same words from a file and from the server", async ({
  page,
  served,
}) => {
  const texts: string[] = [];
  const file = pathToFileURL(written("same.html", ["shop"])).href;
  for (const url of [await served("shop"), file]) {
    await page.goto("about:blank");
    await open(page, url, "sandwich");
    await expect(page.locator("main#view")).toContainText("distance");
    texts.push(await page.locator("main#view").innerText());
  }
  expect(texts[0]).toBe(texts[1]);
  expect(report("shop", "flat").rows.length).toBeGreaterThan(5);
});
