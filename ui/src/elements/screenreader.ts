/** A table for screen readers with what a canvas shows. */
import { h } from "./dom";

export function screenReaderTable(
  caption: string,
  heads: readonly string[],
  rows: HTMLElement[],
): HTMLElement {
  return h(
    "table",
    { class: "screen-reader" },
    h("caption", null, caption),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        heads.map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h("tbody", null, rows),
  );
}
