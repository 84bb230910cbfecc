/** The first page: words, findings, what to look at. */

import { duration } from "../../src/elements/format";
import { expect, open, report, test } from "../sonde";

test("the words are the text report's", async ({ page, served }) => {
  await open(page, await served("shop"), "overview");
  const summary = report("shop", "summary");
  const words = page.locator(".words");
  await expect(words).toContainText(
    `It used ${duration(summary.cpu_ns)} of CPU time`,
  );
  await expect(words).toContainText(
    `was recorded for ${duration(summary.duration_ns)}`,
  );
});

test("findings, worst first, each with a way to its evidence", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "overview");
  const { findings } = report("shop", "summary");
  expect(findings.length).toBeGreaterThan(1);
  const items = page.locator(".findings li");
  await expect(items).toHaveCount(findings.length);
  for (const [i, finding] of findings.entries())
    await expect(items.nth(i).locator("strong")).toHaveText(finding.title);
  const links = items.locator("a");
  const views = new Set<string>();
  for (let i = 0; i < (await links.count()); i++) {
    await links.nth(i).click();
    await expect(page.locator("main.overview")).toHaveCount(0);
    views.add((await page.locator("main#view").getAttribute("class"))!);
    await page.goBack();
    await expect(page.locator("main.overview")).toBeVisible();
  }
  expect(views).toContain("view locks");
});

test("top functions are those of flat, and obey the filters", async ({
  page,
  served,
}) => {
  const url = await served("shop");
  for (const [state, options] of [
    ["", []],
    ["time=wall", ["--wall"]],
    ["from=200000000&to=700000000", ["--from", "0.2", "--to", "0.7"]],
  ] as const) {
    await open(page, url, "overview", state);
    const reported = report("shop", "flat", "--top", "10", ...options).rows;
    const shown = page.locator(".functions-card li");
    await expect(shown).toHaveCount(reported.length);
    expect(
      await shown.evaluateAll((all) =>
        all.map((li) => Number(li.getAttribute("data-ns"))),
      ),
    ).toEqual(reported.map((row: any) => row.self));
  }
});

test("blockers are the owners of locks, without waits for notifications", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "overview");
  const reported = report("shop", "locks", "--by", "owner_function");
  const blocked = reported.rows
    .map((row: any) => row.wait_ns - row.signalling_ns)
    .filter((ns: number) => ns > 0)
    .sort((a: number, b: number) => b - a)
    .slice(0, 10);
  expect(blocked.length).toBeGreaterThan(1);
  const shown = page.locator(".blockers-card li");
  await expect(shown).toHaveCount(blocked.length);
  expect(
    await shown.evaluateAll((all) =>
      all.map((li) => Number(li.getAttribute("data-ns"))),
    ),
  ).toEqual(blocked);
});

test("a thread leads to its own flame graph", async ({ page, served }) => {
  await open(page, await served("shop"), "overview");
  await page.locator(".threads-card a").first().click();
  await expect(page.locator("main.flame")).toBeVisible();
  await expect(page).toHaveURL(/threads=\d+/);
});
