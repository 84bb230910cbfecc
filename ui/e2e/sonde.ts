/**
 * What the tests of the page share: recordings of real programs, servers of them, the numbers of
 * their reports, and a page that must stay clean: no error, no question to another host.
 */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { test as base, expect, type Page } from "@playwright/test";
import { folder, SONDE } from "./record";

export { expect };

export type RecordingName =
  "shop" | "repaired" | "hostile" | "everything" | "empty";

export function file(name: RecordingName): string {
  return join(folder(), `${name}.sonde`);
}

/** Reports do not change during a run, and several tests want the same one. */
const TOLD = new Map<string, string>();

/** `sonde report FILE VIEW --json`, read. */
export function report(
  name: RecordingName,
  view: string,
  ...options: string[]
): any {
  const words = ["report", file(name), view, "--json", ...options];
  const key = words.join(" ");
  let told = TOLD.get(key);
  if (told === undefined) {
    told = execFileSync(SONDE, words, {
      maxBuffer: 1 << 28,
      encoding: "utf8",
    });
    TOLD.set(key, told);
  }
  return JSON.parse(told);
}

/** `sonde view ... --html OUT`, and where it was written. */
export function written(
  out: string,
  names: RecordingName[],
  ...options: string[]
): string {
  const path = join(folder(), out);
  execFileSync(
    SONDE,
    ["view", ...names.map(file), "--html", path, ...options],
    { stdio: "pipe" },
  );
  return path;
}

export interface Served {
  url: string;
  stop(): Promise<void>;
}

async function serve(names: RecordingName[]): Promise<Served> {
  const process = spawn(SONDE, ["view", ...names.map(file), "--no-open"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  return { url: await address(process), stop: () => stopped(process) };
}

function address(process: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    process.stderr!.on("data", (text: Buffer) => {
      said += text.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+\/\S+\//.exec(said);
      if (found) resolve(found[0]);
    });
    process.on("exit", () =>
      reject(new Error(`the server did not start: ${said}`)),
    );
  });
}

function stopped(process: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    process.removeAllListeners("exit");
    process.on("exit", () => resolve());
    process.kill(); // by SIGTERM: an interrupt may be ignored where tests run in the background
  });
}

interface Shared {
  /** The address of the server of these recordings; started once, stopped at the end. */
  served: (...names: RecordingName[]) => Promise<string>;
}

export const test = base.extend<{ page: Page }, Shared>({
  served: [
    async ({}, use) => {
      const running = new Map<string, Promise<Served>>();
      await use(async (...names) => {
        const key = names.join(" ");
        if (!running.has(key)) running.set(key, serve(names));
        return (await running.get(key)!).url;
      });
      for (const server of running.values()) await (await server).stop();
    },
    { scope: "worker" },
  ],
  page: async ({ page }, use) => {
    const wrong: string[] = [];
    page.on("pageerror", (error) => wrong.push(error.stack ?? String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") wrong.push(message.text());
    });
    page.on("request", (request) => {
      const url = new URL(request.url());
      const own = ["127.0.0.1", "localhost", ""].includes(url.hostname);
      if (!own) wrong.push(`asked ${request.url()}`);
    });
    await use(page);
    expect(wrong).toEqual([]);
  },
});

/** Opens a view of the page; `state` is the rest of the address after "#". */
export async function open(
  page: Page,
  url: string,
  view: string,
  state = "",
): Promise<void> {
  await page.goto(`${url}#view=${view}${state && `&${state}`}`);
  await page.waitForSelector(`main#view.${view} > :not([hidden])`);
}
