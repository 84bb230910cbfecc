/** Locks: regrouped by dragging and by keys, with the numbers of `sonde report locks`. */

import type { Page } from "@playwright/test";
import { expect, open, report, test } from "../sonde";

interface Row {
  wait_ns: number;
  count: number;
  max_ns: number;
  histogram: [number, number][];
  children: Row[];
}

/** Every row of a report, as depth and figures. */
function figures(rows: Row[], depth = 1): string[] {
  return rows.flatMap((row) => [
    [depth, row.wait_ns, row.count, row.max_ns].join(" "),
    ...figures(row.children, depth + 1),
  ]);
}

/** Opens everything, and reads it. */
async function read(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const closed =
      '.lock-rows [aria-expanded="false"] .twist, .lock-rows .more button';
    for (let turn = 0; turn < 5000; turn++) {
      const next = document.querySelector<HTMLElement>(closed);
      if (!next) break;
      next.click();
    }
    return [
      ...document.querySelectorAll<HTMLElement>(".lock-rows tr[role=row]"),
    ].map((row) =>
      [
        row.getAttribute("aria-level"),
        row.dataset.ns,
        row.dataset.count,
        row.dataset.longest,
      ].join(" "),
    );
  });
}

async function same(page: Page, by: string, ...options: string[]) {
  await expect(page.locator(".lock-rows tbody tr").first()).toBeVisible();
  const reported = report("shop", "locks", "--by", by, ...options);
  expect((await read(page)).sort()).toEqual(figures(reported.rows).sort());
  return reported;
}

test("the rows of the report, in its order", async ({ page, served }) => {
  await open(page, await served("shop"), "locks");
  const reported = await same(page, "kind,lock,owner_chain,waiter_chain");
  expect(reported.rows.length).toBeGreaterThan(1);
  const first = page.locator(".lock-rows tr[role=row]").first();
  await expect(first).toHaveAttribute(
    "data-ns",
    String(reported.rows[0].wait_ns),
  );
});

for (const by of [
  "waiter_function,owner_function,lock",
  "owner_thread,lock,waiter_thread",
  "kind,waiter_thread,owner_chain",
  "lock_class,waiter_function",
]) {
  test(`by ${by}`, async ({ page, served }) => {
    await open(page, await served("shop"), "locks", `locks.by=${by}`);
    await same(page, by);
  });
}

for (const by of ["kind,lock,held_in_function", "held_in_chain"]) {
  test(`what holders did, by ${by}`, async ({ page, served }) => {
    await open(page, await served("shop"), "locks", `locks.by=${by}`);
    await expect(page.locator(".lock-rows tbody tr").first()).toBeVisible();
    const reported = figures(report("shop", "locks", "--by", by).rows);
    const shown = await read(page);
    expect(shown.length).toBe(reported.length);
    const numbers = (row: string) => row.split(" ").map(Number);
    const order = (a: number[], b: number[]) =>
      a[0]! - b[0]! || a[3]! - b[3]! || a[1]! - b[1]!;
    const expected = reported.map(numbers).sort(order);
    shown
      .map(numbers)
      .sort(order)
      .forEach((row, i) => {
        // An estimate is rounded to nanoseconds, here and there.
        expect(Math.abs(row[1]! - expected[i]![1]!)).toBeLessThanOrEqual(2);
        expect([row[0], row[2], row[3]]).toEqual([
          expected[i]![0],
          expected[i]![2],
          expected[i]![3],
        ]);
      });
  });
}

test("a part of the time, some of the threads", async ({ page, served }) => {
  const url = await served("shop");
  await open(page, url, "locks", "from=400000000&to=1300000000&locks.by=lock");
  await same(page, "lock", "--from", "0.4", "--to", "1.3");
  await page.goto("about:blank");
  await open(page, url, "locks", "threads=0&locks.by=lock,owner_thread");
  const tid = report("shop", "threads").rows.find(
    (row: { name: string }) => row.name === "MainThread",
  ).tid;
  await same(page, "lock,owner_thread", "--thread", String(tid));
});

test("a chip dragged to the top regroups at once", async ({ page, served }) => {
  await open(page, await served("shop"), "locks");
  await expect(page.locator(".lock-rows tbody tr").first()).toBeVisible();
  await page
    .locator('.used [data-aspect="lock"]')
    .dragTo(page.locator('.used [data-aspect="kind"]'), {
      targetPosition: { x: 60, y: 2 },
    });
  await expect(page.locator(".lock-rows thead")).toContainText(
    "lock / kind / release stack / waiter's stack",
  );
  await same(page, "lock,kind,owner_chain,waiter_chain");
  expect(page.url()).toContain("locks.by=lock");

  // From the list of those not used, between two that are; and out again.
  await page
    .locator('.spare [data-aspect="owner_thread"]')
    .dragTo(page.locator('.used [data-aspect="kind"]'), {
      targetPosition: { x: 60, y: 2 },
    });
  await same(page, "lock,owner_thread,kind,owner_chain,waiter_chain");
  await page
    .locator('.used [data-aspect="kind"]')
    .dragTo(page.locator(".spare"), { targetPosition: { x: 60, y: 10 } });
  await same(page, "lock,owner_thread,owner_chain,waiter_chain");
});

test("the same by keys", async ({ page, served }) => {
  await open(page, await served("shop"), "locks");
  const chip = (aspect: string) =>
    page.locator(`[data-aspect="${aspect}"] .grip`);
  await chip("lock").focus();
  await page.keyboard.press("ArrowUp");
  await expect(page.locator(".lock-rows thead")).toContainText("lock / kind");
  await expect(chip("lock")).toBeFocused();
  await page.keyboard.press("Delete");
  await expect(page.locator(".lock-rows thead")).not.toContainText("lock /");
  await chip("waiter_thread").focus();
  await page.keyboard.press("Enter");
  await same(page, "kind,owner_chain,waiter_chain,waiter_thread");

  // Rows: down, open, in, and back.
  await page.goBack();
  const row = page.locator('.lock-rows tr[aria-selected="true"]');
  await row.focus();
  await page.keyboard.press("Home");
  await expect(row).toHaveAttribute("aria-level", "1");
  await page.keyboard.press("ArrowLeft");
  await expect(row).toHaveAttribute("aria-expanded", "false");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(row).toHaveAttribute("aria-level", "2");
  await expect(row).toBeFocused();
});

test("the chosen row: histogram and both chains", async ({ page, served }) => {
  await open(page, await served("shop"), "locks", "locks.by=lock,waiter_chain");
  const reported = report("shop", "locks", "--by", "lock,waiter_chain");
  const at = reported.rows.findIndex((row: { key: { lock: string } }) =>
    row.key.lock.includes("with"),
  );
  expect(at).toBeGreaterThanOrEqual(0);
  const row = page
    .locator('.lock-rows tr[aria-level="1"]')
    .filter({ hasText: reported.rows[at].key.lock });
  await row.first().click();
  const bars = page.locator(".histogram rect");
  await expect(bars).toHaveCount(reported.rows[at].histogram.length);
  const seen = await bars.evaluateAll((all) =>
    all.map((bar) => {
      const { upper, count } = (bar as SVGElement).dataset;
      return [Number(upper), Number(count)];
    }),
  );
  expect(seen).toEqual(reported.rows[at].histogram);
  const [waiter, owner] = [0, 1].map((i) =>
    page.locator(".pair section").nth(i),
  ) as [ReturnType<Page["locator"]>, ReturnType<Page["locator"]>];
  await expect(waiter.locator(".site .mark")).toHaveText("acquires here");
  await expect(owner.locator(".site .mark")).toHaveText("releases here");
  await expect(waiter.locator(".site .source-line")).toContainText("with");
  await waiter.locator(".site a.place").click();
  await expect(page.locator(".code-line.asked .text")).toContainText("with");
});

test("only what another thread had", async ({ page, served }) => {
  await open(page, await served("shop"), "locks", "locks.by=kind");
  await page.getByRole("button", { name: "contention" }).click();
  const reported = report("shop", "locks", "--by", "kind");
  const held = reported.rows.filter(
    (row: { signalling: boolean }) => !row.signalling,
  );
  const total = held.reduce(
    (sum: number, row: Row & { signalling_ns: number }) =>
      sum + row.wait_ns - row.signalling_ns,
    0,
  );
  const seen = await page
    .locator(".lock-rows tr[role=row]")
    .evaluateAll((all) =>
      all.map((row) => Number((row as HTMLElement).dataset.ns)),
    );
  expect(seen.reduce((a, b) => a + b, 0)).toBe(total);
});
