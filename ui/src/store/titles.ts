/** Names of cells and of selections. */

import { named } from "../elements/format";
import { clock, range } from "./clock";
import type { Cell, Chosen } from "./selection";

export function titleOf(at: Cell): string {
  const value = at.value === null ? "(none)" : named(at.value, 40);
  return `${at.label} ${value}, ${range(at.from, at.to)}`;
}

/** Where there is little room. */
export function shortly(at: Cell): string {
  const value = at.value === null ? "(none)" : named(at.value, 24);
  return `${value}, ${clock(at.from, at.from % 1000 ? 1 : 1000)}`;
}

export function wholeTitle(now: Chosen): string {
  return now.where.length || now.from !== null || now.to !== null
    ? "the selection"
    : "the whole store";
}
