/** Who waited because of whom: the pairs of chains in a row, the heaviest first. */
import type { Waits } from "../../data/recording";
import type { Parts } from "./parts";

export interface Pair {
  waiter: number;
  owner: number;
  ns: number;
  /** Its row with most time; tells the functions and threads. */
  row: number;
}

export function pairs(waits: Waits, parts: Parts, rows: Int32Array): Pair[] {
  const found = new Map<number, Pair & { most: number }>();
  // Contexts fit into 26 bits each, far beyond what a recording holds.
  for (const row of rows) {
    const waiter = waits.waiter[row]!;
    const owner = waits.owner[row]!;
    const key = (waiter + 1) * 2 ** 26 + owner + 1;
    const ns = parts.ns[row]!;
    const pair = found.get(key);
    if (!pair) {
      found.set(key, { waiter, owner, ns, row, most: ns });
      continue;
    }
    pair.ns += ns;
    if (ns > pair.most) {
      pair.most = ns;
      pair.row = row;
    }
  }
  return [...found.values()].sort((a, b) => b.ns - a.ns || a.row - b.row);
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
