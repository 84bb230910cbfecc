/** Names and bars that several parts of the view share. */

import { h } from "../../elements/dom";
import { percent } from "../../elements/format";
import type { CallGraph } from "../../profile/calls";

const NOTHING = "outside the program";

export function nameOf(graph: CallGraph, fn: number): string {
  return graph.functions[fn]?.name ?? NOTHING;
}

/** A share with a bar behind it, as wide as the whole cell where it is `widest`. */
export function shareBar(share: number, widest: number): HTMLElement {
  const width = widest > 0 ? (100 * share) / widest : 0;
  return h(
    "span",
    { class: "share", role: "cell", title: String(share) },
    h("i", { style: { width: `${width.toFixed(2)}%` } }),
    percent(share),
  );
}
