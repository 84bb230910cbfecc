/** The page of a heap snapshot. */

import { pathToFileURL } from "node:url";
import { expect, report, test, written } from "../sonde";

test("types, sorted and searched, and what keeps one alive", async ({
  page,
  served,
}) => {
  await page.goto(await served("heap"));
  const { rows, objects } = report("heap", "heap");
  const names = page.locator(".types .row bdi");
  await expect(names.first()).toHaveText(rows[0].type);
  await expect(page.locator(".heading")).toContainText(`${objects} objects`);
  await page.getByRole("button", { name: /^objects/ }).click();
  const most = Math.max(...rows.map((row: any) => row.count));
  await expect(page.locator(".types .row").first()).toContainText(String(most));
  await page.getByLabel("Find a type").fill("node");
  await expect(names).toHaveCount(
    rows.filter((row: any) => /node/i.test(row.type)).length,
  );
  await names.getByText("app.Node", { exact: true }).click();
  const panel = page.getByRole("region", { name: "Paths" });
  const { paths } = report("heap", "heap", "--path", "app.Node");
  await expect(panel.locator(".path")).toHaveCount(paths.length);
  await expect(panel).toContainText("2 objects of app.Node keep");
  // A step leads to the paths of that object.
  await panel.getByRole("button", { name: "app.Node[]" }).first().click();
  await expect(panel.locator("h2")).toContainText("app.Node[] 0x");
});

test("the tree of dominators, zoomed by keys", async ({ page, served }) => {
  await page.goto(`${await served("heap")}#view=dominators`);
  const icicle = page.locator(".icicle");
  await icicle.focus();
  await page.keyboard.press("ArrowDown");
  const { rows } = report("heap", "heap", "--dominators");
  await expect(page).toHaveURL(new RegExp(`of=0x${rows[0].id.toString(16)}$`));
  await page.keyboard.press("Enter");
  await expect(page.locator(".trail button")).toHaveCount(2);
  // The next level down, with what the whole had left out.
  await icicle.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page.locator(".trail button")).toHaveCount(3);
  await page.locator(".trail button").nth(1).click();
  await expect(page.locator(".trail button")).toHaveCount(2);
  await icicle.focus();
  await page.keyboard.press("Escape");
  await expect(page.locator(".trail button")).toHaveCount(1);
});

test("equal values, and a name that means harm", async ({ page, served }) => {
  await page.goto(`${await served("heap")}#view=duplicates`);
  const { wasted } = report("heap", "heap", "--duplicates");
  const view = page.locator("div.duplicates");
  await expect(view).toContainText(`${(wasted / 1024).toFixed(1)} KiB more`);
  await expect(view).toContainText('app.<img src=x onerror="alert(1)">.data');
  await expect(view).toContainText("app.Node[]");
  expect(await page.locator("img").count()).toBe(0);
});

test("one file has the paths to what is largest", async ({ browser }) => {
  const file = pathToFileURL(written("heap.html", ["heap"])).href;
  const context = await browser.newContext({ offline: true });
  const page = await context.newPage();
  await page.goto(`${file}#view=types&of=app.Node`);
  const panel = page.getByRole("region", { name: "Paths" });
  await expect(panel).toContainText("2 objects of app.Node keep");
  await page.getByRole("link", { name: "Dominators" }).click();
  await expect(page.locator(".icicle canvas").first()).toBeVisible();
  await page.getByLabel("Dark colours").click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.goto(`${file}#of=0x1`);
  await expect(panel).toContainText("run: sonde report heap.sonde heap --path");
  await context.close();
});
