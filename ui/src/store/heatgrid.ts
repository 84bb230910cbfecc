/** The map of a store: rows are values of a label, columns are steps of time. Where things are. */

import { clock, day } from "./clock";
import type { Cell, StoreSelection, Value } from "./selection";

export interface Heat {
  readonly by: string;
  /** Milliseconds since 1970, and of one column. */
  readonly begin: number;
  readonly step: number;
  readonly columns: number;
  /** By their time, descending; nanoseconds by column. */
  readonly rows: readonly { value: Value; cells: readonly number[] }[];
  /** What there was no room for. */
  readonly more: { rows: number; ns: number };
}

/** The JSON of `sonde fleet report STORE heat --json`. */
export interface HeatJson {
  readonly by: string;
  readonly begin_ns: number;
  readonly step_ns: number;
  readonly columns: number;
  readonly rows: Heat["rows"];
  readonly more_rows: number;
  readonly more_ns: number;
}

/**
 * In milliseconds. Nanoseconds since 1970 are more than a number of JavaScript holds exactly, but
 * these are whole milliseconds.
 */
export function heatOf(json: HeatJson): Heat {
  return {
    by: json.by,
    begin: Math.round(json.begin_ns / 1e6),
    step: json.step_ns / 1e6,
    columns: json.columns,
    rows: json.rows,
    more: { rows: json.more_rows, ns: json.more_ns },
  };
}

export interface Place {
  readonly row: number;
  readonly column: number;
}

export const ROW = 18;

/** Of a point on the cells; null: there is none. */
export function placeAt(
  heat: Heat,
  width: number,
  x: number,
  y: number,
): Place | null {
  const row = Math.floor(y / ROW);
  if (x < 0 || x >= width || row < 0 || row >= heat.rows.length) return null;
  return { row, column: columnAt(heat, width, x) };
}

/** The nearest column. */
export function columnAt(heat: Heat, width: number, x: number): number {
  const column = Math.floor((x / width) * heat.columns);
  return Math.max(0, Math.min(heat.columns - 1, column));
}

export function boxOf(heat: Heat, width: number, { row, column }: Place) {
  const left = Math.round((column * width) / heat.columns);
  const right = Math.round(((column + 1) * width) / heat.columns);
  return { x: left, y: row * ROW, width: right - left, height: ROW };
}

/** Cells at the edges are cut where the range is. */
export function cellAt(
  heat: Heat,
  selection: StoreSelection,
  place: Place,
): Cell {
  const begin = heat.begin + place.column * heat.step;
  return {
    label: heat.by,
    value: heat.rows[place.row].value,
    from: Math.max(begin, selection.from ?? begin),
    to: Math.min(begin + heat.step, selection.to ?? begin + heat.step),
  };
}

/** Where a cell is on this map, if it is one of its cells. */
export function placeOf(
  heat: Heat,
  selection: StoreSelection,
  cell: Cell,
): Place | null {
  if (cell.label !== heat.by) return null;
  const row = heat.rows.findIndex(({ value }) => value === cell.value);
  const column = Math.floor((cell.from - heat.begin) / heat.step);
  if (row < 0 || column < 0 || column >= heat.columns) return null;
  const there = cellAt(heat, selection, { row, column });
  return there.from === cell.from && there.to === cell.to
    ? { row, column }
    : null;
}

/** The range that some columns cover, as the next map's. */
export function rangeOf(
  heat: Heat,
  selection: StoreSelection,
  one: number,
  other: number,
) {
  const first = { row: 0, column: Math.min(one, other) };
  const last = { row: 0, column: Math.max(one, other) };
  return {
    from: cellAt(heat, selection, first).from,
    to: cellAt(heat, selection, last).to,
  };
}

/** A third of the columns around one: the next closer look. */
export function zoomRange(
  heat: Heat,
  selection: StoreSelection,
  column: number,
) {
  const reach = Math.max(1, Math.floor(heat.columns / 6));
  return rangeOf(
    heat,
    selection,
    Math.max(0, column - reach),
    Math.min(heat.columns - 1, column + reach),
  );
}

export function maxTime(heat: Heat): number {
  let found = 0;
  for (const row of heat.rows)
    for (const ns of row.cells) found = Math.max(found, ns);
  return found;
}

/**
 * How strong the colour of a cell is, from 0 to 1. By the root: of one busy cell among many quiet
 * ones the quiet ones can still be distinguished; and any time at all is visible.
 */
export function strength(ns: number, most: number): number {
  return ns > 0 && most > 0 ? 0.12 + 0.88 * Math.sqrt(ns / most) : 0;
}

/** Columns with the time they begin at; the day where it is another than before. */
export function ticks(
  heat: Heat,
  width: number,
  room: number,
): { column: number; text: string }[] {
  const every = Math.max(1, Math.ceil((room * heat.columns) / width));
  const found = [];
  let before = "";
  for (let column = 0; column < heat.columns; column += every) {
    const at = heat.begin + column * heat.step;
    const date = day(at);
    const time = clock(at, heat.step);
    const text = date !== before && time !== date ? `${date} ${time}` : time;
    found.push({ column, text });
    before = date;
  }
  return found;
}
