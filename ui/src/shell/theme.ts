/** Colours for canvases; those of elements are in style.css under the same names. */

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
  | "off" // ready, but taken off the processor by the scheduler
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

// Of the palette of Okabe and Ito, which colour-blind people can tell apart; by day and by night.
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
  match: ["#f0c808", "#f0c808"],
  slower: ["#c8402f", "#e8705f"],
  faster: ["#2f6fc8", "#5f9be8"],
  fresh: ["#7d4fb3", "#a97fdb"],
};

/** Hues far enough apart to be told; lightness tells modules of one hue apart. */
const HUES = [28, 205, 160, 330, 48, 265, 100, 10, 230, 185];

export function makeTheme(dark: boolean): Theme {
  const hues = new Map<string, number>();
  return {
    dark,
    font: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
    colour: (name) => COLOURS[name][dark ? 1 : 0],
    module(name, light = 0) {
      let seed = hues.get(name);
      if (seed === undefined) hues.set(name, (seed = hash(name)));
      const hue = HUES[seed % HUES.length];
      const step = (seed >>> 8) % 3;
      const lightness = dark
        ? 33 + step * 4 - light * 14
        : 80 - step * 5 + light * 12;
      const saturation = (dark ? 34 : 58) - light * 30;
      return {
        fill: `hsl(${hue} ${saturation}% ${lightness}%)`,
        text: dark ? "#f2f4f7" : "#1b1e24",
      };
    },
  };
}

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < Math.min(text.length, 200); i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  }
  return (value ^ (value >>> 15)) >>> 0;
}
