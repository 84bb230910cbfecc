/** Counted calls: the report's edges, the chosen one, what to do about them. */

import type { Page } from "@playwright/test";
import { expect, open, report, test } from "../sonde";

/** The rows in sight: what is called, from where, and its share. */
function edges(page: Page) {
  return page.locator("main .row").evaluateAll((found) =>
    found
      .sort(
        (a, b) =>
          Number(a.getAttribute("aria-rowindex")) -
          Number(b.getAttribute("aria-rowindex")),
      )
      .map((row) => {
        const [callee, caller] = [...row.querySelectorAll("bdi.name")];
        const count = row.children[2].textContent!.replaceAll(",", "");
        return {
          callee: callee.textContent!,
          caller: caller.textContent!,
          weight: Number(row.querySelector(".share")!.getAttribute("title")),
          count: Number(count),
        };
      }),
  );
}

for (const [state, options] of [
  ["", []],
  ["from=100000000&to=200000000", ["--from", "0.1", "--to", "0.2"]],
] as const) {
  test(`the table is the report's ${options.join(" ")}`, async ({
    page,
    served,
  }) => {
    await open(page, await served("everything"), "calls", state);
    await expect(page.locator(".row").first()).toBeVisible();
    const reported = report("everything", "calls", ...options).edges;
    const shown = await edges(page);
    expect(shown.map(({ callee, caller }) => [callee, caller])).toEqual(
      reported.map((edge: any) => [
        edge.callee.name,
        edge.caller?.name ?? "outside the program",
      ]),
    );
    reported.forEach((edge: any, i: number) => {
      expect(shown[i].weight).toBeCloseTo(edge.weight, 9);
      expect(shown[i].count).toBe(edge.count);
    });
  });
}

test("a real program: its calls, their line, its advice", async ({
  page,
  served,
}) => {
  await open(page, await served("counted"), "calls");
  const reported = report("counted", "calls");
  const first = reported.edges[0];
  const detail = page.locator(".call-detail");
  await expect(detail.locator("h2 bdi").first()).toHaveText(first.callee.name);
  await expect(detail.locator(".call-site").first()).toContainText(
    `:${first.site_line}`,
  );
  await expect(detail.locator(".call-site code").first()).toContainText(
    first.callee.name.split(".").at(-1)!,
  );
  const advice = reported.advice.loops.length
    ? "Calls in loops"
    : "Worth inlining";
  await expect(detail).toContainText(`${advice}, in the whole recording`);
  await detail.locator("a.place").first().click();
  await expect(page).toHaveURL(/view=source/);
});

test("an edge is chosen by hand, by keys and by its neighbours", async ({
  page,
  served,
}) => {
  await open(page, await served("everything"), "calls");
  const reported = report("everything", "calls").edges;
  const chosen = page.locator(".row.selected");
  await page.locator(".row", { hasText: "len" }).click();
  await expect(chosen).toContainText("len");
  await expect(page).toHaveURL(/calls\.edge=/);
  await page.locator(".rows").focus();
  await page.keyboard.press("Home");
  await expect(chosen).toContainText(reported[0].callee.name);
  await page.locator(".row", { hasText: "len" }).click();
  const neighbour = page.locator(".call-list button", { hasText: "len" });
  await expect(neighbour.first()).toHaveAttribute("aria-current", "true");
  await page.reload();
  await expect(chosen).toContainText("len");
});

test("sorts, searches, and says where nothing is", async ({ page, served }) => {
  const url = await served("everything");
  await open(page, url, "calls");
  await page.getByRole("button", { name: "callee" }).click();
  await expect(async () => {
    const names = (await edges(page)).map((edge) => edge.callee);
    expect(names).toEqual([...names].sort((a, b) => (a < b ? -1 : 1)));
  }).toPass({ timeout: 10_000 });
  await page.locator("#search").fill("fib");
  await expect(page.locator(".row")).toHaveCount(1);
  await page.locator("#search").fill("");
  await open(page, url, "calls", "from=990000000");
  await expect(page.locator("main#view")).toContainText(
    "No calls were counted",
  );
  await page.getByRole("button", { name: "Show the whole" }).click();
  await expect(page.locator(".row").first()).toBeVisible();
  await open(page, await served("shop"), "calls");
  await expect(page.locator("main#view")).toContainText(
    "sonde run --what +calls",
  );
});
