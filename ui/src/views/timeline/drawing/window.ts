/** The window of time that is shown: zooming, panning, and the numbers along its edge. */

import { ticks as round, tickStep } from "d3-array";

export interface TimeWindow {
  from: number;
  to: number;
}

/** The narrowest window: ten microseconds. */
export const MIN_WINDOW = 10_000;

/** Zooms by a factor (less than 1: closer) around a moment that stays where it is. */
export function zoomWindow(
  shown: TimeWindow,
  factor: number,
  around: number,
  whole: number,
): TimeWindow {
  const length = Math.min(
    Math.max((shown.to - shown.from) * factor, Math.min(MIN_WINDOW, whole)),
    whole,
  );
  const share = (around - shown.from) / (shown.to - shown.from);
  return clampWindow(
    { from: around - share * length, to: around + (1 - share) * length },
    whole,
  );
}

export function panWindow(
  shown: TimeWindow,
  by: number,
  whole: number,
): TimeWindow {
  return clampWindow({ from: shown.from + by, to: shown.to + by }, whole);
}

/** The same length inside the recording. */
export function clampWindow(shown: TimeWindow, whole: number): TimeWindow {
  const length = Math.min(shown.to - shown.from, whole);
  const from = Math.min(Math.max(shown.from, 0), whole - length);
  return { from, to: from + length };
}

export interface Tick {
  time: number;
  label: string;
}

/** Round moments, about `most` of them, with as many digits as distinguish them. */
export function ticks(shown: TimeWindow, most: number): Tick[] {
  if (!(shown.to > shown.from)) return [];
  const count = Math.max(most, 1);
  const step = tickStep(shown.from, shown.to, count);
  const digits = Math.min(
    Math.max(Math.ceil(9 - Math.log10(step) - 1e-9), 0),
    9,
  );
  return round(shown.from, shown.to, count).map((time) => ({
    time,
    label: `${(time / 1e9).toFixed(digits)} s`,
  }));
}

/** As in the address: whole nanoseconds. */
export function formatWindow(shown: TimeWindow): string {
  return `${Math.round(shown.from)}-${Math.round(shown.to)}`;
}

export function parseWindow(
  text: string | null | undefined,
  whole: number,
): TimeWindow {
  const found = /^(\d{1,16})-(\d{1,16})$/.exec(text ?? "");
  const shown = found && { from: Number(found[1]), to: Number(found[2]) };
  return shown && shown.to > shown.from
    ? clampWindow(shown, whole)
    : { from: 0, to: whole };
}
