import { h } from "../../shell/dom";
import type { View } from "../../shell/app";

export const flame: View = {
  id: "flame",
  title: "Flame",
  key: "f",
  mount(root) {
    root.append(h("p", { class: "empty" }, "Not there yet."));
    return { update() {}, destroy() {} };
  },
};
