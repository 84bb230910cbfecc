/** Call stacks: their frames, and how one reads on a line. */
import type { Recording } from "../../data/recording";
import { printable } from "../../elements/format";

export interface Frame {
  name: string;
  file: string;
  /** The line executed. */
  line: number;
  library: boolean;
  /** The frame that waits, holds or releases, as the program sees it; lock code is inside of it. */
  site: boolean;
}

/** What every thread begins with; it is left out. */
const BEGINNINGS = new Set([
  "Thread._bootstrap",
  "Thread._bootstrap_inner",
  "_contextvars.Context.run",
  "java.lang.Thread.run",
  "java.lang.Thread.runWith",
]);

/** The frames of a context, innermost first; `site` is the function that waits or holds. */
export function stackFrames(
  recording: Recording,
  context: number,
  site: number,
): Frame[] {
  const { contexts, functions } = recording;
  const found: Frame[] = [];
  let searching = true;
  for (let at = context; at >= 0; at = contexts.parent[at]!) {
    const fn = functions[contexts.fn[at]!];
    if (!fn) continue;
    const here = searching && contexts.fn[at] === site;
    if (here) searching = false;
    found.push({
      name: fn.name,
      file: fn.file,
      line: Math.max(contexts.line[at]!, 0),
      library: isLibrary(fn.file),
      site: here,
    });
  }
  if (searching && found.length) found[0]!.site = true;
  return found;
}

/**
 * `query (shop.py:41) < serve < main`. If it ends in a library the program's own frame comes
 * first, as that distinguishes stacks: `report (shop.py:16), in Handler.handle`.
 */
export function stackLine(frames: Frame[], callers = 2): string {
  const first = Math.max(
    frames.findIndex((frame) => frame.site),
    0,
  );
  const kept = frames.slice(first);
  while (kept.length > 1 && BEGINNINGS.has(kept.at(-1)!.name)) kept.pop();
  const inner = kept[0];
  if (!inner) return "no Python frames";
  if (inner.library) {
    const programFrame = kept.find((frame) => !frame.library);
    if (programFrame)
      return `${codeLocation(programFrame)}, in ${printable(inner.name)}`;
  }
  const rest = kept.slice(1);
  const shown = rest.slice(0, callers).map((frame) => printable(frame.name));
  if (rest.length > callers) shown.push("…");
  return [codeLocation(inner), ...shown].join(" < ");
}

/** A function and the line executed in it. */
export function codeLocation(frame: {
  name: string;
  file: string;
  line: number;
}): string {
  const name = printable(frame.name);
  if (!frame.file || frame.file.startsWith("<") || !frame.line) return name;
  return `${name} (${printable(shortFile(frame.file))}:${frame.line})`;
}

/** The file's own name, with its folder where the name alone is ambiguous. */
export function shortFile(file: string): string {
  const parts = file.split("/");
  const name = parts.at(-1)!;
  const nameless = name === "__init__.py" || name === "__main__.py";
  return nameless && parts.length > 1 ? `${parts.at(-2)}/${name}` : name;
}

/** Whether a file is of the standard library or of an installed package, not of the program. */
export function isLibrary(file: string): boolean {
  if (!file || file.startsWith("<")) return true;
  // A Java class has a package, but no folder.
  if (/^(java|javax|jdk|sun|com\/sun)\/.*\.java$/.test(file)) return true;
  return file
    .split("/")
    .slice(0, -1)
    .some(
      (folder) =>
        folder === "site-packages" ||
        folder === "dist-packages" ||
        folder.startsWith("python3."),
    );
}
