/**
 * What of a store is looked at: labels, a range of time, cells of the map. All of it is in the
 * address. Times are whole milliseconds since 1970.
 */

import type { State } from "../shell/state";

/** Of a label; null: recordings that do not have it. */
export type Value = string | null;

/** Labels with the values that count; one that is not here may have any. */
export type Where = readonly (readonly [string, readonly Value[]])[];

/** A value of a label in a range of time. */
export interface Cell {
  readonly label: string;
  readonly value: Value;
  readonly from: number;
  readonly to: number;
}

export interface StoreSelection {
  readonly where: Where;
  readonly from: number | null;
  readonly to: number | null;
  /** The label whose values are the rows of the map. */
  readonly by: string;
  /** The cell whose tree is shown, and the one it is compared with. */
  readonly a: Cell | null;
  readonly b: Cell | null;
}

type Settings = State["settings"];

const KEYS = ["where", "from", "to", "by", "a", "b"].map(
  (key) => `store.${key}`,
);

/** Whatever makes no sense in an address is as at the start. */
export function parseSelection(settings: Settings, by: string): StoreSelection {
  const from = moment(settings["store.from"]);
  const to = moment(settings["store.to"]);
  const empty = from !== null && to !== null && to <= from;
  const a = cell(settings["store.a"]);
  return {
    where: where(settings["store.where"]),
    from: empty ? null : from,
    to: empty ? null : to,
    by: settings["store.by"] ?? by,
    a,
    b: a && cell(settings["store.b"]),
  };
}

/** The same as settings of the page; what is as at the start is left out. */
export function formatSelection(
  selection: StoreSelection,
  settings: Settings,
  by: string,
): Settings {
  const result: Record<string, string> = {};
  for (const [key, value] of Object.entries(settings))
    if (!KEYS.includes(key)) result[key] = value;
  if (selection.where.length)
    result["store.where"] = JSON.stringify(selection.where);
  if (selection.from !== null) result["store.from"] = String(selection.from);
  if (selection.to !== null) result["store.to"] = String(selection.to);
  if (selection.by !== by) result["store.by"] = selection.by;
  for (const key of ["a", "b"] as const) {
    const at = selection[key];
    if (at)
      result[`store.${key}`] = JSON.stringify([
        at.label,
        at.value,
        at.from,
        at.to,
      ]);
  }
  return result;
}

/** A cell was chosen: the first one, one to compare it with, and then the first one again. */
export function pickCell(
  selection: StoreSelection,
  at: Cell,
  alone = false,
): StoreSelection {
  if (selection.b && !alone && sameCell(selection.b, at))
    return { ...selection, b: null };
  if (selection.a && !alone && sameCell(selection.a, at))
    return { ...selection, a: selection.b, b: null };
  if (alone || !selection.a || selection.b)
    return { ...selection, a: at, b: null };
  return { ...selection, b: at };
}

export function sameCell(one: Cell, other: Cell): boolean {
  return (
    one.label === other.label &&
    one.value === other.value &&
    one.from === other.from &&
    one.to === other.to
  );
}

/** With these values of a label, null: with any. */
export function withLabel(
  where: Where,
  label: string,
  values: readonly Value[] | null,
): Where {
  const others = where.filter(([name]) => name !== label);
  return values?.length ? [...others, [label, values]] : others;
}

/** What the server is asked; of a cell, or of all that is chosen. */
export function queryOf(selection: StoreSelection, at: Cell | null): object {
  const { from, to } = at ?? selection;
  return { where: at ? both(selection.where, at) : selection.where, from, to };
}

/** A cell has the labels chosen above, too; of one label the values in both. */
function both(where: Where, at: Cell): Where {
  return [...where, [at.label, [at.value]]];
}

function where(text: string | undefined): Where {
  const result = parseJson(text);
  if (!Array.isArray(result)) return [];
  return result.filter(
    (one): one is [string, Value[]] =>
      Array.isArray(one) &&
      one.length === 2 &&
      typeof one[0] === "string" &&
      Array.isArray(one[1]) &&
      one[1].length > 0 &&
      one[1].every(isValue),
  );
}

function cell(text: string | undefined): Cell | null {
  const result = parseJson(text);
  if (!Array.isArray(result) || result.length !== 4) return null;
  const [label, value, from, to] = result as unknown[];
  if (typeof label !== "string" || !isValue(value)) return null;
  if (!isMoment(from) || !isMoment(to) || to <= from) return null;
  return { label, value, from, to };
}

function isValue(value: unknown): value is Value {
  return value === null || typeof value === "string";
}

function isMoment(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function moment(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
