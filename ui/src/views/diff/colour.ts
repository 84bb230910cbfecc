/** Red is slower, blue faster, purple only in the new one; the stronger, the more it changed. */
import { h } from "../../elements/dom";
import { duration, percent } from "../../elements/format";
import type { Theme } from "../../elements/theme";
import type { Look } from "../flame/icicle";
import { change } from "./measures";
import { SHARE, type Scale } from "./shape";
import type { Union } from "./union";

/** Smaller changes are noise, and have no colour. */
const STILL = 0.02;
const STEPS = 16;

/** A change in its unit, with its sign. */
export function formatSigned(value: number, shares: boolean): string {
  if (!value) return "±0";
  const sign = value > 0 ? "+" : "−";
  const size = Math.abs(value);
  return sign + (shares ? percent(size / SHARE, 2) : duration(size));
}

export function look(
  union: Union,
  scale: Scale,
  shares: boolean,
  theme: Theme,
  flags: Uint8Array | null,
): Look {
  const colours = ramps(theme);
  const times = (node: number) =>
    [
      scale.base(union.base.total[node]!),
      scale.fresh(union.fresh.total[node]!),
    ] as const;
  return {
    label(node) {
      const [base, fresh] = times(node);
      const { name } = union.functions[union.fn[node]!]!;
      if (!base) return `${name}  new ${formatSigned(fresh, shares)}`;
      const still = Math.abs(change(base, fresh)) < STILL;
      return still ? name : `${name}  ${formatSigned(fresh - base, shares)}`;
    },
    fill: (node) => fillOf(colours, ...times(node)),
    ink: () => theme.colour("text"),
    dim: (node) => flags !== null && !flags[union.fn[node]!],
    running: () => null,
  };
}

interface Ramps {
  still: string;
  slower: string[];
  faster: string[];
  fresh: string;
}

function fillOf(colours: Ramps, base: number, fresh: number): string {
  if (!base && fresh) return colours.fresh;
  const by = change(base, fresh);
  if (Math.abs(by) < STILL) return colours.still;
  const step = Math.min(Math.floor(Math.abs(by) * STEPS), STEPS - 1);
  return (by > 0 ? colours.slower : colours.faster)[step]!;
}

function ramps(theme: Theme): Ramps {
  const still = theme.colour("line");
  const most = theme.dark ? 0.6 : 0.72;
  const ramp = (colour: string) =>
    Array.from({ length: STEPS }, (_, i) =>
      mixColours(colour, still, (most * (i + 2)) / (STEPS + 1)),
    );
  return {
    still,
    slower: ramp(theme.colour("slower")),
    faster: ramp(theme.colour("faster")),
    fresh: mixColours(theme.colour("fresh"), still, most),
  };
}

/** So much of one colour in another; both as #rrggbb. */
export function mixColours(ink: string, ground: string, share: number): string {
  const parts = [1, 3, 5].map((at) => {
    const [a, b] = [ink, ground].map((hex) =>
      parseInt(hex.slice(at, at + 2), 16),
    ) as [number, number];
    return Math.round(a * share + b * (1 - share));
  });
  return `rgb(${parts.join(" ")})`;
}

export function legend(theme: Theme): HTMLElement {
  const colours = ramps(theme);
  const key = (colour: string, text: string) =>
    h(
      "span",
      { class: "key" },
      h("i", { class: "swatch", style: { "--swatch": colour } }),
      text,
    );
  return h(
    "span",
    { class: "legend" },
    key(colours.faster.at(-1)!, "removed"),
    key(colours.faster[7]!, "faster"),
    key(colours.still, "unchanged"),
    key(colours.slower[7]!, "slower"),
    key(colours.fresh, "new"),
  );
}
