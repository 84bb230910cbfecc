/** The calling context tree as a table. */

import { rows } from "../figures";
import { expect, open, report, test } from "../sonde";

for (const [state, options] of [
  ["", ["--merge-lines"]],
  ["tree.lines=split", []],
] as const) {
  test(`opened along the hot path ${options.join(" ")}`, async ({
    page,
    served,
  }) => {
    await open(page, await served("shop"), "tree", state);
    await expect(page.locator(".row").first()).toBeVisible();
    const { nodes } = report("shop", "tree", ...options);
    const shown = await rows(page);
    // Until the path leaves it, the table reads as the report does.
    let same = 0;
    while (
      same < shown.length &&
      nodes[same + 1]?.parent === nodes[same].id &&
      nodes[same + 1].total * 2 >= nodes[same].total
    )
      same++;
    expect(same).toBeGreaterThan(0);
    expect(shown.slice(0, same + 1)).toEqual(
      nodes.slice(0, same + 1).map((node: any) => ({
        name: node.name,
        first: node.total,
        second: node.self,
        samples: node.samples,
      })),
    );
  });
}

test("all roots, closed, then opened by keys", async ({ page, served }) => {
  await open(page, await served("everything"), "tree");
  await page.getByRole("button", { name: "close all" }).click();
  const { nodes } = report("everything", "tree", "--merge-lines");
  const level = (parent: number | null) =>
    nodes.filter((node: any) => node.parent === parent);
  const names = async () => (await rows(page)).map((row) => row.name);
  expect(await names()).toEqual(level(null).map((node: any) => node.name));
  await page.locator(".rows").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  const first = level(null)[0];
  expect(await names()).toEqual(
    [first, ...level(first.id), ...level(null).slice(1)].map(
      (node: any) => node.name,
    ),
  );
  await page.keyboard.press("ArrowLeft");
  expect((await names()).length).toBe(level(null).length);
});

test("search opens the way to what it found", async ({ page, served }) => {
  await open(page, await served("shop"), "tree");
  const deepest = report("shop", "tree", "--merge-lines").nodes.at(-1);
  await page.getByRole("button", { name: "close all" }).click();
  await page.locator("#search").fill(deepest.name);
  await expect(page.locator(".row.found").first()).toBeAttached();
  await expect(page.locator(".hits")).toContainText("of the time");
});

test("wall time: a context that ran and waited is one row", async ({
  page,
  served,
}) => {
  await open(page, await served("everything"), "tree", "time=wall");
  await page.getByRole("button", { name: "close all" }).click();
  const { nodes } = report("everything", "tree", "--wall", "--merge-lines");
  const totals = new Map<string, number>();
  for (const node of nodes)
    if (node.parent === null)
      totals.set(node.name, (totals.get(node.name) ?? 0) + node.total);
  const shown = await rows(page);
  expect(new Map(shown.map((row) => [row.name, row.first]))).toEqual(totals);
});

test("my code, with libraries below it", async ({ page, served }) => {
  await open(page, await served("everything"), "tree");
  await page.getByRole("button", { name: "my code" }).click();
  await page.getByRole("button", { name: "close all" }).click();
  const { nodes } = report("everything", "tree", "--merge-lines", "--mine");
  const roots = nodes.filter((node: any) => node.parent === null);
  expect(await rows(page)).toEqual(
    roots.map((node: any) => ({
      name: node.name,
      first: node.total,
      second: node.self,
      samples: node.samples,
    })),
  );
  await expect(page).toHaveURL(/mine=1/);
  await page.getByRole("button", { name: "all code" }).click();
  await expect(page).not.toHaveURL(/mine=1/);
});
