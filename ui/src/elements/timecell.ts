/** A time with its share as a bar behind it, the part that was waiting hatched. */

import { h } from "./dom";
import { duration, percentOf } from "./format";

export function timeCell(ns: number, whole: number, waiting = 0): HTMLElement {
  const width = (length: number) => ({
    width: `${whole > 0 ? ((100 * Math.min(length, whole)) / whole).toFixed(2) : 0}%`,
  });
  return h(
    "span",
    { class: "share", role: "cell", title: `${ns} ns` },
    h("i", { style: width(ns) }),
    waiting > 0 && h("i", { class: "waited", style: width(waiting) }),
    ns ? duration(ns) : "",
  );
}

export function shareCell(ns: number, whole: number): HTMLElement {
  return h(
    "span",
    { class: "number faint", role: "cell" },
    ns ? percentOf(ns, whole) : "",
  );
}
