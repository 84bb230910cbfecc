import { h } from "../../shell/dom";
import type { View } from "../../shell/app";

export const tree: View = {
  id: "tree",
  title: "Tree",
  key: "t",
  mount(root) {
    root.append(h("p", { class: "empty" }, "Not there yet."));
    return { update() {}, destroy() {} };
  },
};
