import { h } from "../../shell/dom";
import type { View } from "../../shell/app";

export const locks: View = {
  id: "locks",
  title: "Locks",
  key: "l",
  mount(root) {
    root.append(h("p", { class: "empty" }, "Not there yet."));
    return { update() {}, destroy() {} };
  },
};
