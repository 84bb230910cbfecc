/** Who waited because of whom: the pairs of chains in a row, the heaviest first. */
import type { Waits } from "../../data/recording";
import type { Parts } from "./parts";
import { numbered } from "./regroup";

export interface Pair {
  waiter: number;
  owner: number;
  ns: number;
  /** Its row with most time; tells the functions and threads. */
  row: number;
}

/** Up to so many possible pairs, a table finds them faster than a map. */
const TABLE = 1 << 23;

export function pairs(waits: Waits, parts: Parts, rows: Int32Array): Pair[] {
  const waiters = numbered(rows, waits.waiter);
  const owners = numbered(rows, waits.owner);
  const width = owners.found.length;
  const size = waiters.found.length * width;
  const table = size <= TABLE ? new Int32Array(size).fill(-1) : null;
  const map = new Map<number, number>();
  const found: Pair[] = [];
  const most: number[] = [];
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const key = waiters.of[i]! * width + owners.of[i]!;
    let at = table ? table[key]! : (map.get(key) ?? -1);
    if (at < 0) {
      const [waiter, owner] = [waits.waiter[row]!, waits.owner[row]!];
      at = found.push({ waiter, owner, ns: 0, row }) - 1;
      most.push(-1);
      if (table) table[key] = at;
      else map.set(key, at);
    }
    const ns = parts.ns[row]!;
    found[at]!.ns += ns;
    if (ns > most[at]!) {
      most[at] = ns;
      found[at]!.row = row;
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
