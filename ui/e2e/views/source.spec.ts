/** The source with the times of `sonde report lines` in its margin. */

import type { Page } from "@playwright/test";
import { pathToFileURL } from "node:url";
import { expect, open, report, test, written } from "../sonde";

interface Line {
  file: string;
  line: number;
  self: number;
  total: number;
}

function reported(end: string, ...options: string[]): [string, string[]] {
  const rows: Line[] = report("shop", "lines", ...options).rows;
  const { file } = rows.find((row) => row.file.endsWith(end))!;
  const lines = rows
    .filter((row) => row.file === file)
    .map((row) => `${row.line} ${row.self} ${row.total}`);
  return [file, lines.sort()];
}

async function seen(page: Page): Promise<string[]> {
  await expect(page.locator(".code-line").first()).toBeAttached();
  const lines = await page
    .locator(".code-line[data-total]")
    .evaluateAll((all) =>
      all.map((line) => {
        const { line: at, self, total } = (line as HTMLElement).dataset;
        return `${at} ${self} ${total}`;
      }),
    );
  return lines.sort();
}

for (const time of ["running", "wall", "waiting"]) {
  test(`lines of the program, ${time}`, async ({ page, served }) => {
    const [file, lines] = reported("checkout.py", `--${time}`);
    await open(
      page,
      await served("shop"),
      "source",
      `time=${time}&source.file=${encodeURIComponent(file)}`,
    );
    await expect.poll(() => seen(page)).toEqual(lines);
    await expect(page.locator(".code-line .text").first()).toBeAttached();
  });
}

test("files by self time; a click opens one", async ({ page, served }) => {
  await open(page, await served("shop"), "source");
  const files = page.locator(".files a");
  await expect(files.first()).toHaveAttribute("aria-current", "true");
  const rows: Line[] = report("shop", "lines").rows;
  const self = new Map<string, number>();
  for (const row of rows)
    self.set(row.file, (self.get(row.file) ?? 0) + row.self);
  const sums = (
    await files.evaluateAll((all) =>
      all.map((link) => (link as HTMLElement).dataset.file!),
    )
  ).map((file) => self.get(file));
  expect(sums).toEqual([...self.values()].sort((a, b) => b - a));
  await files.nth(1).click();
  await expect(files.nth(1)).toHaveAttribute("aria-current", "true");
  expect(page.url()).toContain("source.file=");
});

test("in one file: with the source, and without", async ({ page }) => {
  const [file, lines] = reported("checkout.py");
  const state = `source.file=${encodeURIComponent(file)}`;
  const bare = pathToFileURL(written("bare.html", ["shop"])).href;
  await open(page, bare, "source", state);
  await expect(page.locator(".notice")).toContainText("--with-source");
  expect(await seen(page)).toEqual(lines);
  const full = written("full.html", ["shop"], "--with-source");
  await open(page, pathToFileURL(full).href, "source", state);
  await expect(page.locator(".code-line .text").first()).toBeAttached();
  await expect(page.locator(".notice")).toHaveCount(0);
  expect(await seen(page)).toEqual(lines);
});
