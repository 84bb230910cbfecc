/** The bottom band: explains what is under the pointer, else what is selected. */

import { fill, h } from "../elements/dom";

export interface Band {
  readonly element: HTMLElement;
  /** Shows this until the next call; with `keep`, null brings it back later. */
  show(node: HTMLElement | null, keep?: boolean): void;
  clear(): void;
}

const HINT =
  "Point at an element to see its details here; click it to keep them. Keys: / search, " +
  "g and a letter for a view, ? for all keys.";

export function bottomBand(): Band {
  const element = h("footer", {
    class: "band",
    "aria-live": "polite",
    "aria-label": "Details",
  });
  const hint = h("p", { class: "faint" }, HINT);
  let kept: HTMLElement = hint;
  fill(element, hint);
  const show = (node: HTMLElement) => {
    if (element.firstChild !== node) fill(element, node);
  };
  return {
    element,
    show(node, keep = false) {
      if (keep) kept = node ?? hint;
      show(node ?? kept);
    },
    clear() {
      kept = hint;
      show(hint);
    },
  };
}
