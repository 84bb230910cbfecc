/** Where things are on the timeline's canvas, in CSS pixels. */
import type { Span } from "./span";
import type { Lane } from "./segments";

export const GUTTER = 210;
export const AXIS = 40;
export const LANE = 24;
export const BAR = 18;

export interface Layout {
  width: number;
  height: number;
  /** How far the lanes are scrolled. */
  scroll: number;
  span: Span;
  lanes: readonly Lane[];
}

export function plotWidth(layout: Layout): number {
  return Math.max(layout.width - GUTTER - 12, 10);
}

export function xOf(layout: Layout, time: number): number {
  const { from, to } = layout.span;
  return GUTTER + ((time - from) / (to - from)) * plotWidth(layout);
}

export function timeAt(layout: Layout, x: number): number {
  const { from, to } = layout.span;
  return from + ((x - GUTTER) / plotWidth(layout)) * (to - from);
}

/** The top of a lane's bar, by its place. */
export function yOf(layout: Layout, place: number): number {
  return AXIS + place * LANE - layout.scroll + (LANE - BAR) / 2;
}

/** The place of the lane at a height, -1 if there is none. */
export function placeAt(layout: Layout, y: number): number {
  if (y < AXIS) return -1;
  const place = Math.floor((y - AXIS + layout.scroll) / LANE);
  return place < layout.lanes.length ? place : -1;
}

/** The first lane that is to be seen, and the one after the last. */
export function visible(layout: Layout): [number, number] {
  const first = Math.max(Math.floor(layout.scroll / LANE), 0);
  const last = Math.ceil((layout.scroll + layout.height - AXIS) / LANE);
  return [first, Math.min(last, layout.lanes.length)];
}
