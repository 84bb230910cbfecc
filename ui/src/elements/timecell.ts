/** A time with its share as a bar behind it, the part that was waiting hatched. */

import { h } from "./dom";
import { duration, part } from "./format";

export function amount(ns: number, whole: number, waiting = 0): HTMLElement {
  const width = (part: number) => ({
    width: `${whole > 0 ? ((100 * Math.min(part, whole)) / whole).toFixed(2) : 0}%`,
  });
  return h(
    "span",
    { class: "share", role: "cell", title: `${ns} ns` },
    h("i", { style: width(ns) }),
    waiting > 0 && h("i", { class: "waited", style: width(waiting) }),
    ns ? duration(ns) : "",
  );
}

export function shareOf(ns: number, whole: number): HTMLElement {
  return h(
    "span",
    { class: "number faint", role: "cell" },
    ns ? part(ns, whole) : "",
  );
}
