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

export interface Chosen {
  readonly where: Where;
  readonly from: number | null;
  readonly to: number | null;
  /** The label whose values are the rows of the map. */
  readonly by: string;
  /** The cell whose tree is shown, and the one it is compared with. */
  readonly a: Cell | null;
  readonly b: Cell | null;
}

type Own = State["own"];

const KEYS = ["where", "from", "to", "by", "a", "b"].map(
  (key) => `store.${key}`,
);

/** Whatever makes no sense in an address is as at the start. */
export function chosen(own: Own, by: string): Chosen {
  const from = moment(own["store.from"]);
  const to = moment(own["store.to"]);
  const empty = from !== null && to !== null && to <= from;
  const a = cell(own["store.a"]);
  return {
    where: where(own["store.where"]),
    from: empty ? null : from,
    to: empty ? null : to,
    by: own["store.by"] ?? by,
    a,
    b: a && cell(own["store.b"]),
  };
}

/** The same as settings of the page; what is as at the start is left out. */
export function written(now: Chosen, own: Own, by: string): Own {
  const found: Record<string, string> = {};
  for (const [key, value] of Object.entries(own))
    if (!KEYS.includes(key)) found[key] = value;
  if (now.where.length) found["store.where"] = JSON.stringify(now.where);
  if (now.from !== null) found["store.from"] = String(now.from);
  if (now.to !== null) found["store.to"] = String(now.to);
  if (now.by !== by) found["store.by"] = now.by;
  for (const key of ["a", "b"] as const) {
    const at = now[key];
    if (at)
      found[`store.${key}`] = JSON.stringify([
        at.label,
        at.value,
        at.from,
        at.to,
      ]);
  }
  return found;
}

/** A cell was chosen: the first one, one to compare it with, and then the first one again. */
export function picked(now: Chosen, at: Cell, alone = false): Chosen {
  if (now.b && !alone && same(now.b, at)) return { ...now, b: null };
  if (now.a && !alone && same(now.a, at)) return { ...now, a: now.b, b: null };
  if (alone || !now.a || now.b) return { ...now, a: at, b: null };
  return { ...now, b: at };
}

export function same(one: Cell, other: Cell): boolean {
  return (
    one.label === other.label &&
    one.value === other.value &&
    one.from === other.from &&
    one.to === other.to
  );
}

/** With these values of a label, null: with any. */
export function narrowedTo(
  now: Where,
  label: string,
  values: readonly Value[] | null,
): Where {
  const others = now.filter(([name]) => name !== label);
  return values?.length ? [...others, [label, values]] : others;
}

/** What the server is asked; of a cell, or of all that is chosen. */
export function question(now: Chosen, at: Cell | null): object {
  const { from, to } = at ?? now;
  return { where: at ? both(now.where, at) : now.where, from, to };
}

/** A cell has the labels chosen above, too; of one label the values in both. */
function both(where: Where, at: Cell): Where {
  return [...where, [at.label, [at.value]]];
}

function where(text: string | undefined): Where {
  const found = parsed(text);
  if (!Array.isArray(found)) return [];
  return found.filter(
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
  const found = parsed(text);
  if (!Array.isArray(found) || found.length !== 4) return null;
  const [label, value, from, to] = found as unknown[];
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

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
