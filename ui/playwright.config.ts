import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/record.ts",
  outputDir: "test-results",
  // One browser at a time: the machine that tests may be small, and the recordings are shared.
  workers: 1,
  timeout: 30_000,
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 800 },
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: process.env.SONDE_BROWSER ?? "/usr/bin/chromium",
      // Chromium's sandbox refuses to run as root, which containers test as.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    },
  },
});
