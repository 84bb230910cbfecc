/** The diff of a store's page: of two cells. */

import type { View } from "../shell/app";
import { fill, h } from "../shell/dom";
import { diff } from "../views/diff/diff";

export const cellDiff: View = {
  ...diff,
  mount(root, app) {
    if (app.recordings.length > 1) return diff.mount(root, app);
    fill(
      root,
      h(
        "div",
        { class: "empty" },
        h("p", null, "Two cells of the map above can be compared."),
        h("p", null, "Click one, and then another one."),
      ),
    );
    return { update() {}, destroy() {} };
  },
};
