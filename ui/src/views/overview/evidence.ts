/** From the command that shows a finding's evidence to the page that shows it. */

import type { Recording } from "../../data/recording";
import type { State } from "../../shell/state";

const VIEWS: Record<string, string> = {
  tree: "flame",
  flat: "sandwich",
  lines: "source",
  locks: "locks",
  "lock-table": "locks",
  waits: "timeline",
  threads: "timeline",
};

/** null: the page has nothing more to show. */
export function evidence(
  recording: Recording,
  command: string,
  title: string,
): Partial<State> | null {
  const words = split(command);
  const at = words.indexOf("report");
  const view = VIEWS[words[at + 2]];
  if (at < 0 || !view) return null;
  const settings: Record<string, string> = {};
  const change: { -readonly [K in keyof State]?: State[K] } = {
    view,
    settings,
  };
  change.time = words.includes("--waiting")
    ? "waiting"
    : words.includes("--wall")
      ? "wall"
      : "running";
  const by = words[words.indexOf("--by") + 1];
  if (words.includes("--by")) settings["locks.by"] = by;
  if (words.includes("--mine")) {
    // Callers and callees are of all code; the program's own has its graph.
    change.view = "flame";
    change.mine = true;
  } else if (view === "sandwich") {
    const name = title.replace(/ is hot$/, "");
    const fn = recording.functions.findIndex((one) => one.name === name);
    if (fn >= 0) settings["sandwich.fn"] = String(fn);
  }
  return change;
}

/** Words of a shell command, without their quotes. */
function split(command: string): string[] {
  const words: string[] = [];
  for (const [, single, double, bare] of command.matchAll(
    /'((?:[^']|'"'"')*)'|"([^"]*)"|(\S+)/g,
  )) {
    words.push(single?.replaceAll(`'"'"'`, "'") ?? double ?? bare);
  }
  return words;
}
