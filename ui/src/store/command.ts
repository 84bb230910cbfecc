/** The command that reports the same as a cell. */

import { iso } from "./clock";
import type { Cell, Value, Where } from "./selection";

/** null: its labels cannot be written there, where `,` and `*` mean something. */
export function command(
  address: string,
  where: Where,
  at: Cell | null,
  range: { from: number | null; to: number | null },
  time: string,
): string | null {
  const conditions = [
    ...where,
    ...(at ? [[at.label, [at.value]] as const] : []),
  ];
  const words = ["sonde fleet report", quote(address), "flat"];
  for (const [label, values] of conditions) {
    const clause = condition(label, values);
    if (clause === null) return null;
    words.push("--where", quote(clause));
  }
  const { from, to } = at ?? range;
  if (from !== null) words.push("--from", iso(from));
  if (to !== null) words.push("--to", iso(to));
  if (time !== "running") words.push(`--${time}`);
  return words.join(" ");
}

function condition(label: string, values: readonly Value[]): string | null {
  if (values.length === 1 && values[0] === null) return `${label}!=*`;
  const plain = values.every(
    (value) =>
      value !== null && value === value.trim() && !/[,*]|^$/.test(value),
  );
  return plain ? `${label}=${values.join(",")}` : null;
}

function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text)
    ? text
    : `'${text.replaceAll("'", `'\\''`)}'`;
}
