import { h } from "../../shell/dom";
import type { View } from "../../shell/app";

export const sandwich: View = {
  id: "sandwich",
  title: "Sandwich",
  key: "s",
  mount(root) {
    root.append(h("p", { class: "empty" }, "Not there yet."));
    return { update() {}, destroy() {} };
  },
};
