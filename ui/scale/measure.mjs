/**
 * How the page feels with a large recording: until each view is drawn, and until the frame after
 * each gesture is. Called by benchmarks/cost/page.py; prints JSON.
 *
 *     node scale/measure.mjs SONDE RECORDING PAGE.html
 */

import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { chromium } from "@playwright/test";
import {
  address,
  faults,
  LAUNCH,
  VIEWPORT,
  VIEWS as ALL,
} from "../browser.mjs";

const [sonde, recording, file] = process.argv.slice(2);
// One recording has nothing to be compared with.
const VIEWS = ALL.filter((view) => view !== "diff");
const QUIET_MS = 500;
const TIMES = 3;

/**
 * In the page: when something was last drawn or changed, when the last input came, and when what
 * it set off came to rest. What the page does after a rest (writing the address, say) is no part
 * of the answer to a gesture.
 */
function watch() {
  const REST_MS = 100;
  const seen = { drawn: 0, input: 0, answered: 0 };
  window.watched = seen;
  const stamp = () => {
    seen.drawn = performance.now();
    if (!seen.answered || seen.drawn - seen.answered < REST_MS)
      seen.answered = seen.drawn;
  };
  for (const name of ["fillRect", "clearRect", "fillText", "fill", "stroke"]) {
    const real = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...args) {
      stamp();
      return real.apply(this, args);
    };
  }
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      const end = startTime + duration;
      seen.drawn = Math.max(seen.drawn, end);
      // Work that began before the rest is not over when it began.
      if (startTime < seen.answered + REST_MS)
        seen.answered = Math.max(seen.answered, end);
    }
  }).observe({ type: "longtask", buffered: true });
  document.addEventListener("DOMContentLoaded", () =>
    new MutationObserver(stamp).observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
      characterData: true,
    }),
  );
  for (const name of ["pointerdown", "pointermove", "keydown", "wheel"])
    window.addEventListener(
      name,
      (event) => (seen.input = event.timeStamp),
      true,
    );
}

async function quiet(page) {
  await page.waitForFunction(
    (ms) => performance.now() - window.watched.drawn > ms,
    QUIET_MS,
    { polling: 50 },
  );
}

async function drawn(page, url, view) {
  await page.goto("about:blank");
  await page.goto(`${url}#view=${view}&time=wall`, { timeout: 120_000 });
  await page.waitForSelector(`main#view.${view} > *`, { timeout: 120_000 });
  await quiet(page);
  return page.evaluate(() => {
    const [mark] = performance.getEntriesByName("sonde: opened");
    return window.watched.drawn - mark.startTime;
  });
}

/** The longest of several times the same gesture, and the most processor time of the page. */
async function gesture(page, act) {
  let slowest = 0;
  let busiest = 0;
  for (let i = 0; i < TIMES; i++) {
    await page.evaluate(() =>
      Object.assign(window.watched, { input: 0, drawn: 0, answered: 0 }),
    );
    const before = await worked(page);
    await act(i);
    await page.waitForTimeout(QUIET_MS);
    await quiet(page);
    busiest = Math.max(busiest, (await worked(page)) - before);
    const took = await page.evaluate(
      () => window.watched.answered - window.watched.input,
    );
    slowest = Math.max(slowest, took);
  }
  return [slowest, busiest];
}

/** Milliseconds of processor time that the page's own thread has used. */
async function worked(page) {
  const { metrics } = await page.profiler.send("Performance.getMetrics");
  return 1000 * metrics.find((one) => one.name === "TaskDuration").value;
}

async function gestures(page, url) {
  const took = {};
  const mouse = page.mouse;
  for (const view of VIEWS) {
    await drawn(page, url, view);
    took[`${view}: move over it`] = await gesture(page, (i) =>
      mouse.move(400 + 90 * i, 330 + 40 * i),
    );
    took[`${view}: click`] = await gesture(page, (i) =>
      mouse.click(420 + 60 * i, 330 + 30 * i),
    );
    if (view === "timeline" || view === "flame") {
      await mouse.move(640, 400);
      took[`${view}: wheel`] = await gesture(page, () => mouse.wheel(0, -200));
    }
    if (view === "flame")
      took["flame: zoom"] = await gesture(page, (i) =>
        mouse.dblclick(400 + 200 * i, 280 + 20 * i),
      );
    took[`${view}: other time`] = await gesture(page, (i) =>
      page.keyboard.press(String((i % 3) + 1)),
    );
    await page.keyboard.press("/");
    took[`${view}: a letter of a search`] = await gesture(page, (i) =>
      page.keyboard.press("met"[i]),
    );
    await page.keyboard.press("Escape");
    const strip = await page.locator(".strip").boundingBox();
    const middle = strip.y + strip.height / 2;
    await mouse.move(strip.x + 300, middle);
    await mouse.down();
    took[`${view}: choose a range`] = await gesture(page, (i) =>
      mouse.move(strip.x + 500 + 40 * i, middle),
    );
    await mouse.up();
  }
  return took;
}

const server = spawn(sonde, ["view", recording, "--no-open"], {
  stdio: ["ignore", "ignore", "pipe"],
});
const url = await address(server);
const browser = await chromium.launch(LAUNCH);
try {
  const page = await browser.newPage({ viewport: VIEWPORT });
  const wrong = faults(page);
  page.setDefaultTimeout(120_000);
  await page.addInitScript(watch);
  page.profiler = await page.context().newCDPSession(page);
  await page.profiler.send("Performance.enable", { timeDomain: "threadTicks" });
  // The server makes a part when it is first asked for; that is reading, not drawing.
  for (const view of ["flame", "locks"]) await drawn(page, url, view);
  const results = { views: VIEWS, server: [], file: [], gestures: {} };
  for (const view of VIEWS) {
    results.server.push(await drawn(page, url, view));
    results.file.push(await drawn(page, pathToFileURL(file).href, view));
  }
  results.gestures = await gestures(page, url);
  // A page that fails is quick.
  if (wrong.length) throw new Error(wrong.join("\n"));
  console.log(JSON.stringify(results));
} finally {
  await browser.close();
  server.kill("SIGINT");
}
