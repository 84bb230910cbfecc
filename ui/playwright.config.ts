import { defineConfig } from "@playwright/test";
import { LAUNCH, VIEWPORT } from "./browser.mjs";

export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/record.ts",
  outputDir: "test-results",
  // Two browsers at a time take as long: each draws without a graphics card.
  workers: 1,
  // These tell a hang from a busy machine, on which everything takes several times as long.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  // As with the other tests: what fails on a busy machine gets one more try, and is reported.
  retries: 1,
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: VIEWPORT,
    screenshot: "only-on-failure",
    launchOptions: LAUNCH,
  },
});
