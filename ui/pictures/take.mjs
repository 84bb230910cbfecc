/**
 * Pictures of every view for the documentation. Called by scripts/pictures.py.
 *
 *     node pictures/take.mjs PAGE.html STORE FOLDER
 *
 * PAGE is of two recordings of examples/checkout.py, with source; STORE is where the page of a store
 * of several is served.
 */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "@playwright/test";
import { LAUNCH, VIEWPORT } from "../browser.mjs";

const [file, store, folder] = process.argv.slice(2);
const url = pathToFileURL(file).href;

/** What is done in a view before its picture is taken: something that shows what it is for. */
const PICTURES = {
  overview: {},
  flame: {
    state: "time=wall&search=Stock",
    act: (page) => page.mouse.click(90, 272),
  },
  sandwich: {
    act: (page) => page.locator("main").getByText("distance").first().click(),
  },
  tree: {
    act: async (page) => {
      await page.locator("main").click({ position: { x: 300, y: 90 } });
      await page.keyboard.press("h");
    },
  },
  timeline: {
    act: async (page) => {
      // The rows are as high as the recording has threads: the first wait below is a clerk's.
      const zoom = page.getByRole("button", { name: "zoom to it" });
      for (let y = 330; y < VIEWPORT.height && !(await zoom.count()); y += 7) {
        await page.mouse.click(700, y);
      }
      await zoom.click();
    },
  },
  locks: {
    act: async (page) => {
      const rows = page.locator("[role=treegrid] tbody tr");
      await rows.first().click();
      await page.keyboard.press("ArrowRight");
    },
  },
  source: {},
  diff: {},
};

const browser = await chromium.launch(LAUNCH);
try {
  for (const [view, { state = "", act }] of Object.entries(PICTURES)) {
    for (const scheme of view === "overview" ? ["light", "dark"] : ["light"]) {
      const page = await browser.newPage({
        viewport: VIEWPORT,
        colorScheme: scheme,
      });
      await page.goto(`${url}#view=${view}&${state}`);
      await page.waitForSelector(`main#view.${view} > *`);
      await page.waitForTimeout(500);
      await act?.(page);
      await page.waitForTimeout(500);
      const name = scheme === "dark" ? `page-${view}-dark` : `page-${view}`;
      const path = join(folder, `${name}.png`);
      await page.screenshot({ path });
      console.log(path);
      await page.close();
    }
  }
  const page = await browser.newPage({ viewport: VIEWPORT });
  await page.goto(`${store}#store.by=host`);
  const cells = page.locator(".heat-cells");
  await page.waitForSelector(".heat-cells[data-columns]");
  const { width } = await cells.boundingBox();
  for (const [part, row] of [
    [0.05, 0],
    [0.985, 0],
  ]) {
    await cells.click({ position: { x: part * width, y: row * 18 + 9 } });
    await page.waitForTimeout(1500);
  }
  const path = join(folder, "page-store.png");
  await page.screenshot({ path });
  console.log(path);
} finally {
  await browser.close();
}
