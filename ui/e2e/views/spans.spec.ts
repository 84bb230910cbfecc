/** Spans: a filter of every view, and lanes of the timeline. */

import type { Page } from "@playwright/test";
import { rows } from "../figures";
import { expect, open, report, test } from "../sonde";

async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^span: / }).click();
  const panel = page.getByRole("dialog", { name: "span" });
  await panel.getByLabel("Find a span").fill(name);
  await panel.getByRole("button", { name, exact: true }).click();
}

test("a span filters the functions as in the report", async ({
  page,
  served,
}) => {
  await open(page, await served("spans"), "sandwich");
  for (const name of ["outer", "red"]) {
    await choose(page, name);
    const reported = report("spans", "flat", "--span", name).rows;
    expect(reported.length).toBeGreaterThan(0);
    await expect(async () => {
      const shown = await rows(page);
      expect(shown.length).toBeGreaterThan(0);
      expect(shown).toEqual(
        reported.slice(0, shown.length).map((row: any) => ({
          name: row.name,
          first: row.self,
          second: row.total,
          samples: row.samples,
        })),
      );
    }).toPass({ timeout: 10_000 });
  }
  await page.goBack();
  await expect(page.getByRole("button", { name: /^span: / })).toContainText(
    "outer",
  );
});

test("a span filters the waits as in the report", async ({ page, served }) => {
  await open(page, await served("spans"), "locks");
  await choose(page, "locked");
  const reported = report("spans", "locks", "--span", "locked").rows;
  await expect
    .poll(() =>
      page
        .locator('.lock-rows tr[aria-level="1"]')
        .evaluateAll((found) =>
          found.map((row) => Number((row as HTMLElement).dataset.ns)),
        ),
    )
    .toEqual(reported.map((row: { wait_ns: number }) => row.wait_ns));
});

test("lanes of spans, with the report's figures", async ({ page, served }) => {
  await open(page, await served("spans"), "timeline");
  const table = page.locator(".screen-reader.spans tbody tr");
  await expect(table.first()).toBeAttached();
  const seen = await table.evaluateAll((found) =>
    found.map((row) => [
      row.querySelector("th")!.textContent,
      ...[...row.querySelectorAll<HTMLElement>("td[data-ns]")].map((cell) =>
        Number(cell.dataset.ns),
      ),
    ]),
  );
  const reported = report("spans", "spans").rows;
  expect(seen).toEqual(
    reported.map(
      (row: {
        name: string;
        wall_ns: number;
        cpu_ns: number;
        lock_wait_ns: number;
      }) => [row.name, row.wall_ns, row.cpu_ns, row.lock_wait_ns],
    ),
  );
  // The lane of the main thread's spans is the second one: its name says so.
  const box = (await page.locator("canvas.over").boundingBox())!;
  await page.mouse.click(box.x + 60, box.y + 40 + 46 + 20);
  const band = page.locator("footer.band");
  await expect(band).toContainText("Spans of MainThread");
  await band.getByRole("button", { name: "only plain" }).click();
  await expect.poll(() => page.url()).toContain("span=");
  const threads = report("spans", "threads", "--span", "plain").rows;
  await expect
    .poll(() =>
      page
        .locator(".screen-reader:not(.spans) tbody tr")
        .evaluateAll((found) =>
          found.map((row) =>
            Number(row.querySelector<HTMLElement>("td")!.dataset.ns),
          ),
        ),
    )
    .toEqual(threads.map((row: { cpu_ns: number }) => row.cpu_ns));
});

test("the bottom band shows the span under the pointer", async ({
  page,
  served,
}) => {
  await open(page, await served("spans"), "timeline");
  await expect(page.locator(".screen-reader.spans")).toBeAttached();
  const box = (await page.locator("canvas.over").boundingBox())!;
  const band = page.locator("footer.band");
  for (let share = 0.02; share < 1; share += 0.02) {
    const x = box.x + 210 + (box.width - 222) * share;
    await page.mouse.move(x, box.y + 40 + 46 + 8);
    if (/entered by MainThread/.test(await band.innerText())) return;
  }
  throw new Error("no span was shown anywhere along the lane");
});
