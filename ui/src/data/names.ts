/** What is recorded, by name. */

import type { Thread } from "./recording";

export function programName(target: any, file: string): string {
  if (typeof target?.program === "string" && target.program)
    return target.program;
  if (Array.isArray(target?.argv) && target.argv.length)
    return target.argv.join(" ");
  return file;
}

export function runtimeName(name: string): string {
  return { cpython: "CPython", hotspot: "HotSpot" }[name] ?? name;
}

export function threadName(thread: Thread): string {
  return thread.label || thread.name || String(thread.tid);
}
