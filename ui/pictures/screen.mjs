/**
 * One screen of a page as a JPEG. Called by scripts/terminal.py.
 *
 *     node pictures/screen.mjs PAGE.html VIEW FILE
 */

import { pathToFileURL } from "node:url";
import { chromium } from "@playwright/test";
import { LAUNCH } from "../browser.mjs";

const [file, view, path] = process.argv.slice(2);
const browser = await chromium.launch(LAUNCH);
try {
  const page = await browser.newPage({
    viewport: { width: 1000, height: 680 },
    colorScheme: "dark",
  });
  await page.goto(`${pathToFileURL(file).href}#view=${view}`);
  await page.waitForSelector(`main#view.${view} > *`);
  await page.waitForTimeout(300);
  await page.screenshot({ path, type: "jpeg", quality: 70 });
} finally {
  await browser.close();
}
