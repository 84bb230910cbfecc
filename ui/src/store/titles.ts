/** Names of cells and of selections. */

import { displayName } from "../elements/format";
import { clock, range } from "./clock";
import type { Cell, StoreSelection } from "./selection";

export function cellTitle(at: Cell): string {
  const value = at.value === null ? "(none)" : displayName(at.value, 40);
  return `${at.label} ${value}, ${range(at.from, at.to)}`;
}

/** Where there is little room. */
export function shortTitle(at: Cell): string {
  const value = at.value === null ? "(none)" : displayName(at.value, 24);
  return `${value}, ${clock(at.from, at.from % 1000 ? 1 : 1000)}`;
}

export function selectionTitle(selection: StoreSelection): string {
  return selection.where.length ||
    selection.from !== null ||
    selection.to !== null
    ? "the selection"
    : "the whole store";
}
