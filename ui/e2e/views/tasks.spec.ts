/** Tasks of event loops: their table, their samples, their waits, their lanes. */

import { rows } from "../figures";
import { expect, open, report, test } from "../sonde";

test("the table of tasks is that of the report", async ({ page, served }) => {
  await open(page, await served("tasks"), "tasks");
  const shown = () =>
    page
      .locator(".tasks-table .row")
      .evaluateAll((found) =>
        found.map((row) =>
          [...row.querySelectorAll(".share")].map((cell) =>
            parseInt((cell as HTMLElement).title),
          ),
        ),
      );
  const reported = (...options: string[]) =>
    report("tasks", "tasks", ...options).rows.map((row: any) => [
      row.ready_ns,
      row.running_ns,
      row.suspended_ns,
      row.caused_ns,
    ]);
  const all = reported();
  expect(all.length).toBeGreaterThan(5);
  await expect.poll(shown).toEqual(all.slice(0, (await shown()).length));
  await page.evaluate(() => (location.hash += "&to=500000000"));
  const part = reported("--to", "0.5");
  await expect
    .poll(async () => {
      const found = await shown();
      return (
        JSON.stringify(found) === JSON.stringify(part.slice(0, found.length))
      );
    })
    .toBe(true);
});

test("a click on a task selects its samples", async ({ page, served }) => {
  await open(page, await served("tasks"), "tasks");
  await page
    .locator(".tasks-table .row", { hasText: "blocker" })
    .first()
    .click();
  await expect(page.locator(".chip.task")).toContainText("blocker");
  await page.getByRole("link", { name: "Sandwich", exact: true }).click();
  const reported = report("tasks", "flat", "--task", "blocker").rows;
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
});

for (const by of ["kind,owner_task,waiter_task", "kind,held_in_function"])
  test(`waits for the loop by ${by}`, async ({ page, served }) => {
    await open(page, await served("tasks"), "locks");
    await page.evaluate((text) => (location.hash += `&locks.by=${text}`), by);
    const [kind] = report("tasks", "locks", "--by", by).rows.filter(
      (row: any) => row.key.kind === "loop",
    );
    const figures = (row: any) => [row.wait_ns, row.count, row.max_ns];
    const first = page.locator('.lock-rows tr[aria-level="1"]', {
      hasText: "event loops",
    });
    await expect(first).toHaveAttribute("data-ns", String(kind.wait_ns));
    const below = page.locator(
      '.lock-rows tr[aria-level="1"] ~ tr[aria-level="2"]',
    );
    await expect(below.first()).toBeVisible();
    const shown = await below.evaluateAll((found) =>
      found.map((row) => {
        const { ns, count, longest } = (row as HTMLElement).dataset;
        return [ns, count, longest].map(Number);
      }),
    );
    expect(shown).toEqual(kind.children.slice(0, shown.length).map(figures));
  });

test("tasks have lanes, those that waited longest for their loop", async ({
  page,
  served,
}) => {
  await open(page, await served("tasks"), "timeline");
  const table = page.locator(".screen-reader.tasks tbody tr");
  await expect(table.first()).toBeAttached();
  const shown = await table.evaluateAll((found) =>
    found.map((row) => [
      row.querySelector("th")!.textContent,
      Number(row.querySelector("td")!.dataset.ns),
    ]),
  );
  const tasks = report("tasks", "tasks").rows.filter(
    (row: any) => row.kind === "task",
  );
  expect(shown).toHaveLength(5);
  expect(shown).toEqual(
    tasks.slice(0, 5).map((row: any) => [row.name, row.ready_ns]),
  );
  // Below the first thread and the lag of its loop.
  const box = (await page.locator("canvas.over").boundingBox())!;
  await page.mouse.click(box.x + 60, box.y + 40 + 2.5 * 40);
  await expect(page.locator("footer.band")).toContainText("for its event loop");
});
