/** The diff of a store's page: of two cells. */

import { fill, h } from "../elements/dom";
import type { View } from "../shell/app";
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
        h("p", null, "Select two cells of the map above to compare them."),
        h("p", null, "Click one, then the other."),
      ),
    );
    return { update() {}, destroy() {} };
  },
};
