/** All functions in a table; of the chosen one, its callers above and its callees below. */

import "../flame/flame.css";
import "./sandwich.css";
import { fill, h } from "../../elements/dom";
import {
  duration,
  displayName,
  percentOf,
  sourceLocation,
} from "../../elements/format";
import { flat, type FlatRow } from "../../profile/flat";
import type { Profile, Tree } from "../../profile/profile";
import { callees, callers } from "../../profile/sandwich";
import { search } from "../../profile/search";
import type { View } from "../../shell/app";
import { functionDetail } from "../../shell/detailpanel";
import { emptyState, loadingState } from "../../shell/emptystate";
import { frameColours } from "../flame/colour";
import { frameDetail, frameMenu, frameTip } from "../flame/frame";
import { Icicle, type Events } from "../flame/icicle";
import { FunctionTable } from "./table";

export const sandwich: View = {
  id: "sandwich",
  title: "Sandwich",
  key: "s",
  mount(root, app) {
    let profile: Profile | null = null;
    let rows: FlatRow[] = [];
    let asked = 0;
    let of: { tree: Tree | null; fn: number } = { tree: null, fn: -1 };
    const table = new FunctionTable(app, (fn) =>
      app.setSetting("sandwich", "fn", String(fn), true),
    );
    const shown: { callers: Tree | null; callees: Tree | null } = {
      callers: null,
      callees: null,
    };
    const events = (side: "callers" | "callees"): Events => {
      const explain = (node: number) =>
        frameDetail(app, profile!, shown[side]!, node);
      const take = (node: number) =>
        node >= 0 &&
        app.setSetting("sandwich", "fn", String(shown[side]!.fn[node]), true);
      return {
        point: (node) => app.explain(node === null ? null : explain(node)),
        select: (node) => app.explain(explain(node), true),
        zoom: take,
        tip: (node) => frameTip(profile!, shown[side]!, node),
        menu: (node, x, y) =>
          frameMenu(app, profile!, shown[side]!, node, x, y, {
            label: "Select this function",
            run: () => take(node),
          }),
      };
    };
    const above = new Icicle(
      events("callers"),
      true,
      "Callers. Arrow keys move between frames, Enter selects the function.",
    );
    const below = new Icicle(
      events("callees"),
      false,
      "Callees. Arrow keys move between frames, Enter selects the function.",
    );
    const title = h("div", { class: "chosen-function" });
    const right = h(
      "div",
      { class: "bread" },
      h("p", { class: "side faint" }, "called by"),
      above.element,
      title,
      below.element,
      h("p", { class: "side faint" }, "calls"),
    );
    const empty = h("div", { class: "empty-room" }, loadingState());
    const both = h("div", { class: "sides" }, table.element, right);
    both.hidden = true;
    fill(root, both, empty);

    return {
      async update() {
        const turn = ++asked;
        const found = await app.profile();
        if (turn !== asked) return;
        if (found !== profile) rows = flat(found);
        profile = found;
        both.hidden = !found.total;
        fill(empty, !found.total && emptyState(app));
        if (!found.total) return;
        const wanted = Number(app.setting("sandwich", "fn") ?? rows[0].fn);
        const chosen = rows.find((row) => row.fn === wanted) ?? rows[0];
        const tree = found.tree(true);
        if (tree !== of.tree || chosen.fn !== of.fn) {
          of = { tree, fn: chosen.fn };
          shown.callers = callers(tree, chosen.fn);
          shown.callees = callees(tree, chosen.fn);
        }
        const look = (side: Tree) => frameColours(app, found, side, null, true);
        above.show(shown.callers!, look(shown.callers!), app.theme, -1);
        below.show(shown.callees!, look(shown.callees!), app.theme, -1);
        // After the canvases: they ask for their size, and rows just built would be measured for it.
        const flags = search(found.functions, app.state.search);
        table.show(found, rows, flags, chosen.fn);
        fill(title, ...headline(found, chosen));
        app.explain(functionDetail(app, found, { ...chosen, line: 0 }), true);
      },
      destroy() {
        asked++;
        table.destroy();
        above.destroy();
        below.destroy();
      },
    };
  },
};

function headline(profile: Profile, row: FlatRow): HTMLElement[] {
  const fn = profile.functions[row.fn];
  return [
    h(
      "bdi",
      { class: "name", title: displayName(fn.name, 400) },
      displayName(fn.name, 80),
    ),
    h("bdi", { class: "faint" }, sourceLocation(fn.file, fn.line, 40)),
    h(
      "span",
      null,
      `self ${duration(row.self)} (${percentOf(row.self, profile.total)})`,
    ),
    h(
      "span",
      null,
      `total ${duration(row.total)} (${percentOf(row.total, profile.total)})`,
    ),
  ];
}
