import { h } from "../../shell/dom";
import type { View } from "../../shell/app";

export const overview: View = {
  id: "overview",
  title: "Overview",
  key: "o",
  mount(root) {
    root.append(h("p", { class: "empty" }, "Not there yet."));
    return { update() {}, destroy() {} };
  },
};
