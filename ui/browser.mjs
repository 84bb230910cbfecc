/** How the page is opened, wherever it is: in tests, in the benchmark, and for pictures. */

export const VIEWS = [
  "overview",
  "flame",
  "sandwich",
  "tree",
  "timeline",
  "locks",
  "calls",
  "source",
  "diff",
];

export const VIEWPORT = { width: 1280, height: 800 };

export const LAUNCH = {
  executablePath: process.env.SONDE_BROWSER ?? "/usr/bin/chromium",
  // Chromium's sandbox refuses to run as root, which containers test as.
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
};

/**
 * All that goes wrong in a page from now on: errors, and questions to another host.
 *
 * @param {import("@playwright/test").Page} page
 * @returns {string[]} grows as things happen
 */
export function faults(page) {
  /** @type {string[]} */
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(error.stack ?? String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") wrong.push(message.text());
  });
  page.on("request", (request) => {
    const { hostname } = new URL(request.url());
    if (!["127.0.0.1", "localhost", ""].includes(hostname))
      wrong.push(`asked ${request.url()}`);
  });
  return wrong;
}

/**
 * Where a `sonde view` that was just started serves its page.
 *
 * @param {import("node:child_process").ChildProcess} server
 * @returns {Promise<string>}
 */
export function address(server) {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stderr?.on("data", (text) => {
      said += text;
      const found = /http:\/\/127\.0\.0\.1:\d+\/\S+\//.exec(said);
      if (found) resolve(found[0]);
    });
    server.on("exit", () =>
      reject(new Error(`the server did not start: ${said}`)),
    );
  });
}
