/** The flame graph: what is drawn is read through the band that explains it. */

import type { Page } from "@playwright/test";
import { ns } from "../figures";
import { expect, open, report, test } from "../sonde";

const total = (page: Page) => ns(page.locator(".tools .total strong"));
const name = (page: Page) => page.locator(".band .name");

async function reported(page: Page) {
  return {
    name: await name(page).textContent(),
    self: await ns(page.locator(".band .self")),
    total: await ns(page.locator(".band .total")),
  };
}

test("down the heaviest frames, as the report has them", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "flame");
  const { nodes, total: whole } = report("shop", "tree", "--merge-lines");
  await expect.poll(() => total(page)).toBe(whole);
  await page.locator(".icicle").focus();
  for (let at = 0; at < nodes.length; at++) {
    await page.keyboard.press("ArrowDown");
    await expect(name(page)).toHaveText(nodes[at].name);
    expect(await reported(page)).toEqual({
      name: nodes[at].name,
      self: nodes[at].self,
      total: nodes[at].total,
    });
    if (nodes[at + 1]?.parent !== nodes[at].id) break;
  }
});

test("lines split, as the report has them", async ({ page, served }) => {
  await open(page, await served("shop"), "flame");
  await page.getByRole("button", { name: "lines split" }).click();
  await expect(
    page.getByRole("button", { name: "lines split" }),
  ).toHaveAttribute("aria-pressed", "true");
  const { nodes } = report("shop", "tree");
  await page.locator(".icicle").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(name(page)).toHaveText(nodes[1].name);
  expect((await reported(page)).total).toBe(nodes[1].total);
  await expect(page.locator(".band")).toContainText(`:${nodes[1].line}`);
});

test("under the pointer: the frame, its line and its source", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "flame", "flame.lines=split");
  await expect.poll(() => total(page)).toBeGreaterThan(0);
  const { nodes } = report("shop", "tree");
  // The graph may still move down when what is above it is laid out.
  await expect(async () => {
    const box = (await page.locator(".icicle").boundingBox())!;
    await page.mouse.move(box.x + 12, box.y + 8);
    await page.mouse.move(box.x + 10, box.y + 8);
    await expect(name(page)).toHaveText(nodes[0].name, { timeout: 1000 });
  }).toPass();
  expect((await reported(page)).total).toBe(nodes[0].total);
  await expect(page.locator(".band .code")).toContainText(
    String(nodes[0].line),
  );
});

test("zoom by double click and keys, back by Escape and the back button", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "flame");
  await expect.poll(() => total(page)).toBeGreaterThan(0);
  const box = (await page.locator(".icicle").boundingBox())!;
  await page.mouse.dblclick(box.x + 10, box.y + 8 + 19);
  await expect(page).toHaveURL(/flame\.zoom=\d+/);
  await expect(page.getByRole("button", { name: "zoom out" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/flame\.zoom/);
  await page.locator(".icicle").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/flame\.zoom=\d+/);
  await page.goBack();
  await expect(page).not.toHaveURL(/flame\.zoom/);
});

test("search shows the share of what it found", async ({ page, served }) => {
  await open(page, await served("everything"), "flame", "time=wall");
  await page.locator("#search").fill("FIB");
  const rows = report("everything", "flat", "--wall").rows;
  const fib = rows.find((row: any) => row.name === "fib");
  await expect.poll(() => ns(page.locator(".hits"))).toBe(fib.total);
  await page.locator("#search").fill("nothing of that name");
  await expect(page.locator(".hits")).toHaveText("found in no frame");
});

test("focus, hide and collapse by the menu, undone by their chips", async ({
  page,
  served,
}) => {
  await open(page, await served("everything"), "flame");
  const { rows, total: whole } = report("everything", "flat");
  const of = (wanted: string) =>
    rows.find((row: any) => row.name === wanted).total;
  const { nodes } = report("everything", "tree", "--merge-lines");
  await expect.poll(() => total(page)).toBe(whole);
  const roots = nodes.filter((node: any) => node.parent === null);
  const choose = async (item: string) => {
    await expect(page.locator(".icicle")).toBeVisible();
    await page.locator(".icicle").focus();
    await page.keyboard.press("ArrowDown");
    // Roots are siblings: to the right until it is the one.
    for (let i = 0; i < roots.length; i++) {
      if ((await name(page).textContent()) === "fib") break;
      await page.keyboard.press("ArrowRight");
    }
    await expect(name(page)).toHaveText("fib");
    await page.keyboard.press("Shift+F10");
    await page.getByRole("menuitem", { name: item }).click();
  };
  await choose("Hide");
  await expect.poll(() => total(page)).toBe(whole - of("fib"));
  await page.getByRole("button", { name: /^Undo/ }).click();
  await expect.poll(() => total(page)).toBe(whole);
  await page.reload();
  await choose("Focus");
  await expect.poll(() => total(page)).toBe(of("fib"));
  await expect(page.locator(".chip.focus")).toContainText("fib");
  await page.getByRole("button", { name: /^Undo/ }).click();
  await page.reload();
  await choose("Collapse");
  await expect(page.locator(".chip.collapse")).toContainText("fib");
  await expect.poll(() => total(page)).toBe(whole);
  // No frame of fib below fib any more: all its time is its own.
  await page.locator("#search").fill("fib");
  await expect(page.locator(".hits")).toContainText("1 frame:");
});

test("an empty part says so, with a way out", async ({ page, served }) => {
  await open(page, await served("shop"), "flame", "from=0&to=1");
  await expect(page.locator(".empty")).toContainText("No on-CPU time");
  await page.getByRole("button", { name: "Show the whole recording" }).click();
  await expect.poll(() => total(page)).toBe(report("shop", "tree").total);
});
