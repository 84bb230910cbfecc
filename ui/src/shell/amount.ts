/** A time with its share as a bar behind it. */

import { h } from "./dom";
import { duration, part } from "./format";

export function amount(ns: number, whole: number): HTMLElement {
  const share = whole > 0 ? Math.max(0, Math.min(1, ns / whole)) : 0;
  return h(
    "span",
    { class: "share", role: "cell", title: `${ns} ns` },
    h("i", { style: { width: `${(share * 100).toFixed(2)}%` } }),
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
