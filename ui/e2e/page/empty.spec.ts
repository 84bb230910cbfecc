/** A recording of nothing says so, in every view. */

import { VIEWS } from "../../browser.mjs";
import { expect, open, test } from "../sonde";

test("nothing was recorded", async ({ page, served }) => {
  const url = await served("empty");
  for (const view of VIEWS) {
    await open(page, url, view);
    await expect(page.locator("main#view")).toContainText(/[a-z]{2}/);
    await page.mouse.move(640, 300);
    await page.mouse.click(640, 300);
    await page.mouse.wheel(0, -100);
    for (const key of ["1", "2", "3", "ArrowDown", "Enter", "Escape"])
      await page.keyboard.press(key);
  }
});

test("compared with something", async ({ page, served }) => {
  await open(page, await served("empty", "shop"), "diff");
  await expect(page.locator("main#view")).toContainText("distance");
});
