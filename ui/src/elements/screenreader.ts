/** A table that says what a canvas cannot, to who does not see it. */
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
