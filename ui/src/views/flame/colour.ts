/** What frames look like: a hue per module, or on-CPU and off-CPU time distinguished. */

import { h } from "../../elements/dom";
import { shorten } from "../../elements/format";
import type { Theme } from "../../elements/theme";
import type { Profile, Tree } from "../../profile/profile";
import type { App } from "../../shell/app";
import type { Look } from "./icicle";

const MAX_MODULES = 6;

export function frameColours(
  app: App,
  profile: Profile,
  tree: Tree,
  flags: Uint8Array | null,
  mergeLines: boolean,
): Look {
  const { theme } = app;
  const byState = app.setting("flame", "colour") === "state";
  const waits = profile.selection.time === "wall";
  const waiting = hatchPattern(theme);
  const label = (node: number) => {
    const { name, line } = profile.functions[tree.fn[node]];
    const at = tree.line[node];
    const shown = name || "(no name)";
    return !mergeLines && at > 0 && at !== line ? `${shown}:${at}` : shown;
  };
  const share = (node: number) =>
    tree.total[node] > 0 ? tree.totalWaiting[node] / tree.total[node] : 0;
  const colour = (node: number): string | CanvasPattern => {
    if (flags?.[tree.fn[node]]) return theme.colour("match");
    if (byState) {
      return share(node) > 0.5 ? waiting : fadedGreen(theme, share(node));
    }
    const light = waits ? share(node) * 0.4 : 0;
    return theme.module(profile.functions[tree.fn[node]].module, light).fill;
  };
  // While one zooms every frame is drawn many times, always in the same colour.
  const colours = new Map<number, string | CanvasPattern>();
  return {
    label,
    fill(node) {
      let found = colours.get(node);
      if (!found) colours.set(node, (found = colour(node)));
      return found;
    },
    ink: (node) =>
      flags?.[tree.fn[node]]
        ? "#1b1e24"
        : theme.dark
          ? "#f2f4f7"
          : theme.colour("text"),
    dim: (node) => flags !== null && !flags[tree.fn[node]],
    running: (node) => (waits ? 1 - share(node) : null),
  };
}

/** What the colours mean; in words, too, for those who cannot distinguish them. */
export function legend(app: App, profile: Profile): HTMLElement {
  const { theme } = app;
  const key = (colour: string, text: string, kind = "") =>
    h(
      "span",
      { class: "key" },
      h("i", { class: `swatch ${kind}`, style: { "--swatch": colour } }),
      h("bdi", null, text),
    );
  if (app.setting("flame", "colour") === "state") {
    return h(
      "span",
      { class: "legend" },
      key(fadedGreen(theme, 0), "on-CPU"),
      key(theme.colour("io"), "mostly off-CPU", "hatched"),
    );
  }
  return h(
    "span",
    { class: "legend" },
    modulesOf(profile).map((module) =>
      key(theme.module(module).fill, shorten(module, 20)),
    ),
  );
}

const MODULES = new WeakMap<Profile, string[]>();

/** The modules with most self time. */
function modulesOf(profile: Profile): string[] {
  const known = MODULES.get(profile);
  if (known) return known;
  const tree = profile.tree(true);
  const self = new Map<string, number>();
  for (let i = 0; i < tree.size; i++) {
    const { module } = profile.functions[tree.fn[i]];
    if (!tree.self[i] || !module) continue;
    self.set(module, (self.get(module) ?? 0) + tree.self[i]);
  }
  const found = [...self]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MAX_MODULES)
    .map(([module]) => module);
  MODULES.set(profile, found);
  return found;
}

function fadedGreen(theme: Theme, waiting: number): string {
  const lightness = theme.dark ? 28 - waiting * 8 : 74 + waiting * 12;
  return `hsl(160 ${theme.dark ? 50 : 48}% ${lightness}%)`;
}

const PATTERNS = new WeakMap<Theme, CanvasPattern>();

/** Waiting is hatched everywhere, so that its colour is not needed to recognize it. */
function hatchPattern(theme: Theme): CanvasPattern {
  const known = PATTERNS.get(theme);
  if (known) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const context = tile.getContext("2d")!;
  context.fillStyle = theme.dark ? "#1f3a4c" : "#cfe4f2";
  context.fillRect(0, 0, 8, 8);
  context.strokeStyle = theme.dark ? "#2d5670" : "#a9cfe8";
  context.lineWidth = 1.5;
  context.beginPath();
  for (const x of [-8, 0, 8]) {
    context.moveTo(x, 8);
    context.lineTo(x + 8, 0);
  }
  context.stroke();
  const pattern = context.createPattern(tile, "repeat")!;
  PATTERNS.set(theme, pattern);
  return pattern;
}
