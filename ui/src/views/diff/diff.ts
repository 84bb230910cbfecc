import { h } from "../../shell/dom";
import type { View } from "../../shell/app";

export const diff: View = {
  id: "diff",
  title: "Diff",
  key: "d",
  mount(root) {
    root.append(h("p", { class: "empty" }, "Not there yet."));
    return { update() {}, destroy() {} };
  },
};
