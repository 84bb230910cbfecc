/** Where things are on the timeline's canvas, in CSS pixels. */
import type { Lane } from "../lanes/lane";
import type { TimeWindow } from "./window";

export const GUTTER = 210;
export const AXIS = 40;
/** Lanes are as high as there is room for, within reason. */
const MIN_HEIGHT = 24;
const MAX_HEIGHT = 46;
const BETWEEN = 6;

export interface Layout {
  width: number;
  height: number;
  /** How far the lanes are scrolled. */
  scroll: number;
  timeWindow: TimeWindow;
  lanes: readonly Lane[];
  /** The height of a lane with what is between lanes. */
  lane: number;
}

export function laneHeight(lanes: number, height: number): number {
  const room = Math.floor((height - AXIS - 8) / Math.max(lanes, 1));
  return Math.min(Math.max(room, MIN_HEIGHT), MAX_HEIGHT);
}

/** The height of a lane's bar. */
export function barOf(layout: Layout): number {
  return layout.lane - BETWEEN;
}

export function plotWidth(layout: Layout): number {
  return Math.max(layout.width - GUTTER - 12, 10);
}

export function xOf(layout: Layout, time: number): number {
  const { from, to } = layout.timeWindow;
  return GUTTER + ((time - from) / (to - from)) * plotWidth(layout);
}

export function timeAt(layout: Layout, x: number): number {
  const { from, to } = layout.timeWindow;
  return from + ((x - GUTTER) / plotWidth(layout)) * (to - from);
}

/** The top of a lane's bar, by its place. */
export function yOf(layout: Layout, place: number): number {
  return AXIS + place * layout.lane - layout.scroll + BETWEEN / 2;
}

/** The place of the lane at a height, -1 if there is none. */
export function placeAt(layout: Layout, y: number): number {
  if (y < AXIS) return -1;
  const place = Math.floor((y - AXIS + layout.scroll) / layout.lane);
  return place < layout.lanes.length ? place : -1;
}

/** The first visible lane, and the one after the last. */
export function visible(layout: Layout): [number, number] {
  const first = Math.max(Math.floor(layout.scroll / layout.lane), 0);
  const last = Math.ceil((layout.scroll + layout.height - AXIS) / layout.lane);
  return [first, Math.min(last, layout.lanes.length)];
}
