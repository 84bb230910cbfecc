/**
 * What the tests of the page share: recordings of real programs, servers of them, the numbers of
 * their reports, and a page that must stay clean: no error, no question to another host.
 */

import { expect, test as base, type Page } from "@playwright/test";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { address, faults } from "../browser.mjs";
import { folder, ROOT, SONDE } from "./record";

export { HOSTILE_HOST } from "./record";
export { expect };

export type RecordingName =
  | "shop"
  | "repaired"
  | "spans"
  | "hostile"
  | "everything"
  | "empty"
  | "rivals"
  | "counted"
  | "tasks"
  | "objects"
  | "flow"
  | "heap";

export function file(name: RecordingName): string {
  return join(folder(), `${name}.sonde`);
}

/** Reports do not change during a run, and several tests want the same one. */
const REPORTS = new Map<string, string>();

/** `sonde report FILE VIEW --json`, read. */
export function report(
  name: RecordingName,
  view: string,
  ...options: string[]
): any {
  return reported("report", file(name), view, "--json", ...options);
}

/** `sonde diff BASE NEW --json`, read. */
export function compared(base: RecordingName, fresh: RecordingName): any {
  return reported("diff", file(base), file(fresh), "--json");
}

function store(): string {
  return join(folder(), "store");
}

function reported(...words: string[]): any {
  const key = words.join(" ");
  let output = REPORTS.get(key);
  if (output === undefined) {
    output = execFileSync(SONDE, words, {
      maxBuffer: 1 << 28,
      encoding: "utf8",
    });
    REPORTS.set(key, output);
  }
  return JSON.parse(output);
}

const WRITTEN = new Set<string>();

/** `sonde view ... --html OUT`, and where it was written; the same again is written once. */
export function written(
  out: string,
  names: RecordingName[],
  ...options: string[]
): string {
  const path = join(folder(), out);
  const words = ["view", ...names.map(file), "--html", path, ...options];
  const key = words.join(" ");
  if (!WRITTEN.has(key)) execFileSync(SONDE, words, { stdio: "pipe" });
  WRITTEN.add(key);
  return path;
}

export interface Served {
  url: string;
  stop(): Promise<void>;
}

async function serve(...what: string[]): Promise<Served> {
  const process = spawn(SONDE, ["view", ...what, "--no-open"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  return { url: await address(process), stop: () => stopped(process) };
}

function stopped(process: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    process.removeAllListeners("exit");
    process.on("exit", () => resolve());
    process.kill(); // by SIGTERM: an interrupt may be ignored where tests run in the background
  });
}

/** `sonde fleet report STORE VIEW --json`, read. */
type Fleet = (view: string, ...options: string[]) => Promise<any>;

interface Shared {
  /** The address of the server of these recordings; started once, stopped at the end. */
  served: (...names: RecordingName[]) => Promise<string>;
  /** The same of the store that holds some of them. */
  shelved: () => Promise<string>;
  fleet: Fleet;
}

export const test = base.extend<{ page: Page }, Shared>({
  served: [
    async ({}, use) => {
      const running = new Map<string, Promise<Served>>();
      await use(async (...names) => {
        const key = names.join(" ");
        if (!running.has(key)) running.set(key, serve(...names.map(file)));
        return (await running.get(key)!).url;
      });
      for (const server of running.values()) await (await server).stop();
    },
    { scope: "worker" },
  ],
  shelved: [
    async ({}, use) => {
      let running: Promise<Served> | null = null;
      await use(async () => (await (running ??= serve(store()))).url);
      if (running) await (await (running as Promise<Served>)).stop();
    },
    { scope: "worker" },
  ],
  fleet: [
    async ({}, use) => {
      const answering = spawn(
        join(ROOT, ".venv/bin/python"),
        [join(ROOT, "tests/web/telling.py")],
        {
          env: { ...process.env, PYTHONPATH: join(ROOT, "tests") },
          stdio: ["pipe", "pipe", "inherit"],
        },
      );
      const answers = createInterface({ input: answering.stdout });
      const lines = answers[Symbol.asyncIterator]();
      await use(async (...words) => {
        answering.stdin.write(`${JSON.stringify([store(), ...words])}\n`);
        return JSON.parse((await lines.next()).value ?? "null");
      });
      answering.stdin.end();
    },
    { scope: "worker" },
  ],
  page: async ({ page }, use) => {
    const wrong = faults(page);
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
