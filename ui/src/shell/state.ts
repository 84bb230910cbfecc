/** What is looked at and how; all of it fits into the address, so that a link shows the same. */

import type { Time } from "../profile/selection";

export interface State {
  readonly view: string;
  readonly time: Time;
  /** Rows of the table of threads; null: all. */
  readonly threads: number[] | null;
  /** Rows of the table of processes; null: all. */
  readonly processes: number[] | null;
  /** A place in `meta.spans`: only what happened in spans of that name; null: all. */
  readonly span: number | null;
  /** Row of the tasks: only samples taken in it; null: all. */
  readonly task: number | null;
  /** Nanoseconds since the recording's start. */
  readonly from: number | null;
  readonly to: number | null;
  readonly search: string;
  /** Functions that the stacks must go through, each shown as a root; one after the other. */
  readonly focus: number[];
  /** Functions whose time is left out, with all that they called. */
  readonly hide: number[];
  /** Functions whose recursion is drawn as one call. */
  readonly collapse: number[];
  /** Flame graph and tree show the program's own code, and the time of libraries below it. */
  readonly mine: boolean;
  /** Settings of single views, `view.key`. */
  readonly settings: Readonly<Record<string, string>>;
}

export const START: State = {
  view: "overview",
  time: "running",
  threads: null,
  processes: null,
  span: null,
  task: null,
  from: null,
  to: null,
  search: "",
  focus: [],
  hide: [],
  collapse: [],
  mine: false,
  settings: {},
};

const TIMES: readonly string[] = ["running", "waiting", "wall"];
const LISTS = ["focus", "hide", "collapse"] as const;
const FILTERS = ["threads", "processes"] as const;

/** The state as the part of an address after `#`; what is as at the start is left out. */
export function toHash(state: State): string {
  const words = new URLSearchParams();
  if (state.view !== START.view) words.set("view", state.view);
  if (state.time !== START.time) words.set("time", state.time);
  for (const key of FILTERS) {
    const chosen = state[key];
    if (chosen) words.set(key, chosen.join("."));
  }
  if (state.span !== null) words.set("span", String(state.span));
  if (state.task !== null) words.set("task", String(state.task));
  if (state.from !== null) words.set("from", String(state.from));
  if (state.to !== null) words.set("to", String(state.to));
  if (state.search) words.set("search", state.search);
  for (const key of LISTS)
    if (state[key].length) words.set(key, state[key].join("."));
  if (state.mine) words.set("mine", "1");
  for (const key of Object.keys(state.settings).sort())
    words.set(key, state.settings[key]);
  return words.toString();
}

/** The state an address means. Whatever makes no sense in it is as at the start. */
export function fromHash(hash: string): State {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const settings: Record<string, string> = {};
  for (const [key, value] of words)
    if (/^[a-z]+\.[a-z]+$/i.test(key)) settings[key] = value;
  const time = words.get("time");
  return {
    view: words.get("view") ?? START.view,
    time: time !== null && TIMES.includes(time) ? (time as Time) : START.time,
    threads: numbers(words.get("threads")),
    processes: numbers(words.get("processes")),
    span: numbers(words.get("span"))?.[0] ?? null,
    task: numbers(words.get("task"))?.[0] ?? null,
    from: moment(words.get("from")),
    to: moment(words.get("to")),
    search: words.get("search") ?? "",
    focus: numbers(words.get("focus")) ?? [],
    hide: numbers(words.get("hide")) ?? [],
    collapse: numbers(words.get("collapse")) ?? [],
    mine: words.get("mine") === "1",
    settings,
  };
}

function numbers(text: string | null): number[] | null {
  if (text === null) return null;
  const found = text.split(".").filter((word) => /^\d{1,9}$/.test(word));
  return found.length ? [...new Set(found.map(Number))] : null;
}

function moment(text: string | null): number | null {
  return text !== null && /^\d{1,16}$/.test(text) ? Number(text) : null;
}
