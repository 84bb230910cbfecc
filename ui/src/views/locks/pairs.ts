/** Who waited because of whom: the pairs of stacks in a row, the heaviest first. */
import type { Waits } from "../../data/recording";
import { numberValues } from "./groups";
import type { Parts } from "./parts";

export interface Pair {
  waiter: number;
  owner: number;
  ns: number;
  /** Its row with most time, which has the functions and threads. */
  row: number;
}

export function pairs(waits: Waits, parts: Parts, rows: Int32Array): Pair[] {
  const waiters = numberValues(rows, waits.waiter);
  const owners = numberValues(rows, waits.owner);
  // Rows by waiter, so that a column over the owners is enough to find pairs in: a table of all
  // that may be would be large and nearly empty.
  const next = new Int32Array(waiters.found.length + 1);
  for (let i = 0; i < rows.length; i++) next[waiters.of[i]! + 1]!++;
  for (let i = 0; i < waiters.found.length; i++) next[i + 1]! += next[i]!;
  const order = new Int32Array(rows.length);
  for (let i = 0; i < rows.length; i++) order[next[waiters.of[i]!]!++] = i;
  const found: Pair[] = [];
  const most: number[] = [];
  const at = new Int32Array(owners.found.length);
  const of = new Int32Array(owners.found.length).fill(-1);
  for (const i of order) {
    const row = rows[i]!;
    const waiter = waiters.of[i]!;
    const owner = owners.of[i]!;
    if (of[owner] !== waiter) {
      of[owner] = waiter;
      at[owner] = found.length;
      found.push({
        waiter: waiters.found[waiter]!,
        owner: owners.found[owner]!,
        ns: 0,
        row,
      });
      most.push(-1);
    }
    const pair = found[at[owner]!]!;
    const ns = parts.ns[row]!;
    pair.ns += ns;
    if (ns > most[at[owner]!]!) {
      most[at[owner]!] = ns;
      pair.row = row;
    }
  }
  return found.sort((a, b) => b.ns - a.ns || a.row - b.row);
}

/** The longest wait of some rows: one of its rows, and its time there. */
export function longest(
  waits: Waits,
  parts: Parts,
  rows: Int32Array,
): { row: number; ns: number } | null {
  let found: { row: number; ns: number } | null = null;
  let wait = -1;
  let ns = 0;
  for (const row of rows) {
    if (waits.wait[row] !== wait) ns = 0;
    wait = waits.wait[row]!;
    ns += parts.ns[row]!;
    if (!found || ns > found.ns) found = { row, ns };
  }
  return found;
}
