/** The frame around the views: filters, range, search, address, keys, colours. */

import { VIEWS } from "../../browser.mjs";
import { ns } from "../figures";
import { expect, open, report, test } from "../sonde";

test("on-CPU, off-CPU and wall-clock time are the reports'", async ({
  page,
  served,
}) => {
  const url = await served("shop");
  for (const [time, named] of [
    ["running", "on-CPU"],
    ["waiting", "off-CPU"],
    ["wall", "wall"],
  ] as const) {
    await open(page, url, "flame");
    await page.getByRole("button", { name: named, exact: true }).click();
    await expect(page).toHaveURL(
      time === "running" ? /view=flame/ : new RegExp(`time=${time}`),
    );
    const reported = report("shop", "tree", `--${time}`).total;
    await expect
      .poll(() => ns(page.locator(".tools .total strong")))
      .toBe(reported);
  }
});

test("a thread and a process can be chosen", async ({ page, served }) => {
  await open(page, await served("everything"), "flame", "time=wall");
  await page.getByRole("button", { name: /^threads:/ }).click();
  await page.getByLabel("Find a thread").fill("worker-3");
  await page.getByRole("button", { name: /^Only worker-3/ }).click();
  const one = report("everything", "tree", "--wall", "--thread", "worker-3");
  const total = page.locator(".tools .total strong");
  await expect.poll(() => ns(total)).toBe(one.total);
  await page.getByRole("button", { name: "all threads" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^processes:/ }).click();
  await page.getByRole("button", { name: "Only 200" }).click();
  const child = report("everything", "tree", "--wall", "--process", "200");
  await expect.poll(() => ns(total)).toBe(child.total);
});

test("a range is dragged on the strip, typed, moved and cleared", async ({
  page,
  served,
}) => {
  await open(page, await served("shop"), "flame", "time=wall");
  const total = page.locator(".tools .total strong");
  const whole = report("shop", "tree", "--wall").total;
  await expect.poll(() => ns(total)).toBe(whole);
  const strip = page.locator(".strip");
  const box = (await strip.boundingBox())!;
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.3, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.45, y);
  await page.mouse.move(box.x + box.width * 0.6, y);
  await page.mouse.up();
  const chosen = async () => {
    await expect(page).toHaveURL(/from=\d+&to=\d+/);
    // The address is written when the hand rests.
    await page.waitForTimeout(400);
    const words = new URLSearchParams(new URL(page.url()).hash.slice(1));
    const second = (key: string) => (Number(words.get(key)) / 1e9).toFixed(9);
    return ["--from", second("from"), "--to", second("to")];
  };
  const dragged = await chosen();
  const part = report("shop", "tree", "--wall", ...dragged);
  expect(part.total).toBeGreaterThan(0);
  expect(part.total).toBeLessThan(whole);
  await expect.poll(() => ns(total)).toBe(part.total);

  await strip.focus();
  await page.keyboard.press("ArrowRight");
  const moved = await chosen();
  expect(moved).not.toEqual(dragged);
  await expect
    .poll(() => ns(total))
    .toBe(report("shop", "tree", "--wall", ...moved).total);

  await page.getByRole("button", { name: /^range:/ }).click();
  await page.getByLabel("From, in seconds").fill("0.25");
  await page.getByLabel("To, in seconds").fill("0.5");
  await page.keyboard.press("Enter");
  await expect
    .poll(() => ns(total))
    .toBe(
      report("shop", "tree", "--wall", "--from", "0.25", "--to", "0.5").total,
    );

  await strip.focus();
  await page.keyboard.press("Escape");
  await expect.poll(() => ns(total)).toBe(whole);
  await expect(page).not.toHaveURL(/from=/);
});

test("the address brings everything back, and the back button undoes", async ({
  page,
  served,
}) => {
  const url = await served("shop");
  await open(page, url, "tree", "time=wall&search=price&tree.lines=split");
  await expect(page.locator("#search")).toHaveValue("price");
  await expect(
    page.getByRole("button", { name: "lines split" }),
  ).toHaveAttribute("aria-pressed", "true");
  await page.locator("#tab-sandwich").click();
  await expect(page.locator("main.sandwich")).toBeVisible();
  await page.reload();
  await expect(page.locator("main.sandwich")).toBeVisible();
  await expect(page.locator("#search")).toHaveValue("price");
  await page.goBack();
  await expect(page.locator("main.tree")).toBeVisible();
  await expect(
    page.getByRole("button", { name: "wall", exact: true }),
  ).toHaveAttribute("aria-pressed", "true");
});

test("everything by keys", async ({ page, served }) => {
  await open(page, await served("shop"), "overview");
  for (const [key, view] of [
    ["f", "flame"],
    ["s", "sandwich"],
    ["t", "tree"],
    ["o", "overview"],
  ]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect(page.locator(`main.${view}`)).toBeVisible();
  }
  await page.keyboard.press("3");
  await expect(page).toHaveURL(/time=wall/);
  await page.keyboard.press("/");
  await page.keyboard.type("main");
  await expect(page).toHaveURL(/search=main/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog", { name: "Keys" })).toHaveCount(0);
  // Every control can be reached by Tab, and is seen to be.
  const reached = new Set<string>();
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press("Tab");
    reached.add(
      await page.evaluate(() => {
        const { tagName, id, className } = document.activeElement!;
        return `${tagName}#${id}.${className}`;
      }),
    );
  }
  for (const wanted of ["#search", "#theme", "#tab-flame", ".strip", ".choose"])
    expect([...reached].join(" ")).toContain(wanted);
});

test("light and dark, remembered", async ({ page, served }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await open(page, await served("shop"), "flame");
  const ground = () =>
    page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(await ground()).toBe("rgb(255, 255, 255)");
  await page.locator("#theme").click();
  await expect.poll(ground).toBe("rgb(22, 24, 29)");
  await page.reload();
  await page.waitForSelector("main.flame > *");
  expect(await ground()).toBe("rgb(22, 24, 29)");
});

test("no view is wider than a window of 1280 pixels", async ({
  page,
  served,
}) => {
  const url = await served("shop");
  for (const view of ["overview", "flame", "sandwich", "tree"]) {
    await open(page, url, view, "time=wall&threads=0&from=1000&to=900000000");
    const wide = await page.evaluate(
      () => document.documentElement.scrollWidth,
    );
    expect(wide).toBeLessThanOrEqual(1280);
  }
});

test("nothing is cut off in a narrow window", async ({ page, served }) => {
  await page.setViewportSize({ width: 800, height: 900 });
  const url = await served("shop");
  for (const view of VIEWS.filter((name) => name !== "diff")) {
    await open(page, url, view);
    for (const part of [".program", "#search", "#theme"]) {
      const box = (await page.locator(`.heading ${part}`).boundingBox())!;
      expect(box.width, `${part} in ${view}`).toBeGreaterThan(20);
      expect(box.x + box.width, `${part} in ${view}`).toBeLessThanOrEqual(800);
    }
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth),
      view,
    ).toBe(800);
  }
});

test("names have room in a narrow window", async ({ page, served }) => {
  await page.setViewportSize({ width: 800, height: 900 });
  const url = await served("shop");
  await open(page, url, "sandwich");
  const name = page.locator(".functions .row span").last();
  await expect
    .poll(async () => (await name.boundingBox())?.width ?? 0)
    .toBeGreaterThan(250);
  await open(page, url, "locks");
  const what = page.locator(".lock-rows td.what").first();
  await expect
    .poll(async () => (await what.boundingBox())?.width ?? 0)
    .toBeGreaterThan(200);
});
