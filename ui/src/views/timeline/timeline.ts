import { h } from "../../shell/dom";
import type { View } from "../../shell/app";

export const timeline: View = {
  id: "timeline",
  title: "Timeline",
  key: "i",
  mount(root) {
    root.append(h("p", { class: "empty" }, "Not there yet."));
    return { update() {}, destroy() {} };
  },
};
