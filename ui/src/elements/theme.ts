/** Colours for canvases; those of elements are in style.css under the same names. */

import type { Recording } from "../data/recording";

export type ColourName =
  | "ground" // behind everything
  | "raised" // bands, tables' heads
  | "line" // thin rules
  | "text"
  | "faint" // text that matters less
  | "accent"
  | "running"
  | "gil" // waiting for the GIL
  | "lock" // waiting for any other lock
  | "io" // waiting for anything else: sleep, input, output
  | "off" // runnable, but preempted
  | "memory" // bytes alive
  | "match" // what a search found
  | "slower" // diff
  | "faster"
  | "fresh"; // diff: only in the new recording

export interface Theme {
  readonly dark: boolean;
  readonly font: string;
  colour(name: ColourName): string;
  /** Fill and text of a frame of this module; `light` from 0 to 1 fades it towards the ground. */
  module(name: string, light?: number): { fill: string; text: string };
}

// Of the palette of Okabe and Ito, which colour-blind people can distinguish; light and dark.
const COLOURS: Record<ColourName, readonly [string, string]> = {
  ground: ["#ffffff", "#16181d"],
  raised: ["#f5f6f8", "#1e2127"],
  line: ["#d8dbe1", "#353a44"],
  text: ["#1b1e24", "#e4e7ec"],
  faint: ["#5c6370", "#9aa2b1"],
  accent: ["#0b62b8", "#6cb2f5"],
  running: ["#009e73", "#2bbf93"],
  gil: ["#d55e00", "#ee8133"],
  lock: ["#a8447f", "#db87b5"],
  io: ["#3f94c8", "#4f9fd0"],
  off: ["#8a8f99", "#7d838f"],
  memory: ["#b8860b", "#d9a93a"],
  match: ["#f0c808", "#f0c808"],
  slower: ["#c8402f", "#e8705f"],
  faster: ["#2f6fc8", "#5f9be8"],
  fresh: ["#7d4fb3", "#a97fdb"],
};

/** Hues that can be distinguished; lightness distinguishes modules of one hue. */
const HUES = [205, 28, 160, 330, 48, 265, 100, 10, 230, 185];
const STEPS = 3;

/** What belongs to no module of the program is grey. */
const NEUTRAL = /^(<.*>|built-in|)$/;

/** `modules` in the order in which they get the colours: those that come first differ most. */
export function makeTheme(
  dark: boolean,
  modules: readonly string[] = [],
): Theme {
  const places = new Map<string, number>();
  const place = (name: string): number => {
    let found = places.get(name);
    if (found === undefined) places.set(name, (found = places.size));
    return found;
  };
  for (const name of modules) if (!NEUTRAL.test(name)) place(name);
  return {
    dark,
    font: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
    colour: (name) => COLOURS[name][dark ? 1 : 0],
    module(name, light = 0) {
      const grey = NEUTRAL.test(name);
      const at = grey ? 0 : place(name);
      const hue = HUES[at % HUES.length];
      const step = Math.floor(at / HUES.length) % STEPS;
      const lightness = dark
        ? 34 + step * 5 - light * 14
        : 80 - step * 6 + light * 12;
      const saturation = grey ? 4 : (dark ? 36 : 60) - light * 30;
      return {
        fill: `hsl(${hue} ${saturation}% ${lightness}%)`,
        text: dark ? "#f2f4f7" : "#1b1e24",
      };
    },
  };
}

/** Modules by the number of contexts they have in these recordings, most first. */
export function modulesOf(recordings: readonly Recording[]): string[] {
  const counts = new Map<string, number>();
  for (const { contexts, functions } of recordings) {
    for (const fn of contexts.fn) {
      const name = functions[fn]?.module ?? "";
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .map(([name]) => name);
}
