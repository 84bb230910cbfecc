/** The window of time that is shown: zooming, panning, and the numbers along its edge. */

import { ticks as round, tickStep } from "d3-array";

export interface Span {
  from: number;
  to: number;
}

/** The narrowest window: ten microseconds. */
export const NARROWEST = 10_000;

/** Zooms by a factor (less than 1: closer) around a moment that stays where it is. */
export function zoomed(
  span: Span,
  factor: number,
  around: number,
  whole: number,
): Span {
  const length = Math.min(
    Math.max((span.to - span.from) * factor, Math.min(NARROWEST, whole)),
    whole,
  );
  const share = (around - span.from) / (span.to - span.from);
  return within(
    { from: around - share * length, to: around + (1 - share) * length },
    whole,
  );
}

export function panned(span: Span, by: number, whole: number): Span {
  return within({ from: span.from + by, to: span.to + by }, whole);
}

/** The same length inside the recording. */
export function within(span: Span, whole: number): Span {
  const length = Math.min(span.to - span.from, whole);
  const from = Math.min(Math.max(span.from, 0), whole - length);
  return { from, to: from + length };
}

export interface Tick {
  time: number;
  label: string;
}

/** Round moments, about `most` of them, with as many digits as tell them apart. */
export function ticks(span: Span, most: number): Tick[] {
  if (!(span.to > span.from)) return [];
  const count = Math.max(most, 1);
  const step = tickStep(span.from, span.to, count);
  const digits = Math.min(
    Math.max(Math.ceil(9 - Math.log10(step) - 1e-9), 0),
    9,
  );
  return round(span.from, span.to, count).map((time) => ({
    time,
    label: `${(time / 1e9).toFixed(digits)} s`,
  }));
}

/** As it stands in the address: whole nanoseconds. */
export function written(span: Span): string {
  return `${Math.round(span.from)}-${Math.round(span.to)}`;
}

export function read(text: string | null | undefined, whole: number): Span {
  const found = /^(\d{1,16})-(\d{1,16})$/.exec(text ?? "");
  const span = found && { from: Number(found[1]), to: Number(found[2]) };
  return span && span.to > span.from
    ? within(span, whole)
    : { from: 0, to: whole };
}
