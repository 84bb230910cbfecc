/** Finding functions by what their name or file holds, whatever the case of letters. */

import type { Fn } from "../data/recording";

const MAX_LENGTH = 4000;

/** By function: found (1) or not; null if nothing is searched for. */
export function search(
  functions: readonly Fn[],
  text: string,
): Uint8Array | null {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const flags = new Uint8Array(functions.length);
  functions.forEach((fn, i) => {
    if (holds(fn.name, wanted) || holds(fn.file, wanted)) flags[i] = 1;
  });
  return flags;
}

function holds(text: string, wanted: string): boolean {
  return text.slice(0, MAX_LENGTH).toLowerCase().includes(wanted);
}
