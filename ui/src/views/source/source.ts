import { h } from "../../shell/dom";
import type { View } from "../../shell/app";

export const source: View = {
  id: "source",
  title: "Source",
  key: "c",
  mount(root) {
    root.append(h("p", { class: "empty" }, "Not there yet."));
    return { update() {}, destroy() {} };
  },
};
