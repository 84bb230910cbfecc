/** The icicle of all stacks: where the time goes, at a glance. */

import "./flame.css";
import { fill, h } from "../../elements/dom";
import { count, duration, percentOf, TIMES } from "../../elements/format";
import { matchTotals } from "../../profile/flat";
import type { Profile, Tree } from "../../profile/profile";
import { search } from "../../profile/search";
import type { App, View } from "../../shell/app";
import { codeChoice } from "../../shell/codechoice";
import { emptyState, loadingState } from "../../shell/emptystate";
import { frameColours, legend } from "./colour";
import { frameDetail, frameMenu, frameTip } from "./frame";
import { Icicle } from "./icicle";

const SOON = 300;

export const flame: View = {
  id: "flame",
  title: "Flame",
  key: "f",
  mount(root, app) {
    let profile: Profile | null = null;
    let tree: Tree | null = null;
    let asked = 0;
    const explain = (node: number) => frameDetail(app, profile!, tree!, node);
    const zoomed = () => Number(app.setting("flame", "zoom") ?? -1);
    const icicle = new Icicle(
      {
        point: (node) => app.explain(node === null ? null : explain(node)),
        select: (node) => app.explain(explain(node), true),
        tip: (node) => frameTip(profile!, tree!, node),
        zoom: (node) =>
          app.setSetting("flame", "zoom", node < 0 ? null : String(node), true),
        menu: (node, x, y) =>
          frameMenu(app, profile!, tree!, node, x, y, {
            label: "Zoom here",
            run: () => app.setSetting("flame", "zoom", String(node), true),
          }),
      },
      false,
      "Flame graph. Arrow keys move between frames, Enter zooms, Escape zooms out, Shift F10 opens the menu.",
    );
    const tools = h("div", { class: "tools" });
    const empty = h("div", { class: "empty-room" }, loadingState());
    icicle.element.hidden = true;
    fill(root, tools, icicle.element, empty);
    const back = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || zoomed() < 0) return;
      if (
        (event.target as HTMLElement).matches("input, .strip, dialog, dialog *")
      )
        return;
      zoomOut();
    };
    document.addEventListener("keydown", back);

    function zoomOut(): void {
      const above = tree && zoomed() < tree.size ? tree.parent[zoomed()] : -1;
      app.setSetting("flame", "zoom", above < 0 ? null : String(above), true);
    }

    return {
      async update() {
        const turn = ++asked;
        const found = await app.profile();
        if (turn !== asked) return;
        profile = found;
        const merge = mergesLines(app);
        tree = found.tree(merge);
        const flags = search(found.functions, app.state.search);
        fill(tools, ...toolbar(app, found, tree, flags, zoomOut));
        icicle.element.hidden = !found.total;
        fill(empty, !found.total && emptyState(app));
        if (!found.total) return;
        icicle.show(
          tree,
          frameColours(app, found, tree, flags, merge),
          app.theme,
          zoomed(),
        );
        // What the pointer will ask for: which line of a frame is hot.
        setTimeout(() => turn === asked && found.tree(false), SOON);
      },
      destroy() {
        asked++;
        icicle.destroy();
        document.removeEventListener("keydown", back);
      },
    };
  },
};

function mergesLines(app: App): boolean {
  return app.setting("flame", "lines") !== "split";
}

function toolbar(
  app: App,
  profile: Profile,
  tree: Tree,
  flags: Uint8Array | null,
  zoomOut: () => void,
): (HTMLElement | false)[] {
  const colour = app.setting("flame", "colour") ?? "module";
  const merge = mergesLines(app);
  const zoom = Number(app.setting("flame", "zoom") ?? -1);
  const pick = (label: string, on: boolean, run: () => void, title: string) =>
    h(
      "button",
      { class: "segment", "aria-pressed": String(on), onclick: run, title },
      label,
    );
  const setLines = (value: string | null) => {
    // Frames have other numbers now: the zoomed one would be another.
    const settings: Record<string, string> = { ...app.state.settings };
    delete settings["flame.zoom"];
    if (value) settings["flame.lines"] = value;
    else delete settings["flame.lines"];
    app.set({ settings });
  };
  const hits = flags && matchTotals(tree, flags);
  return [
    h(
      "span",
      { class: "total" },
      h("strong", { title: `${profile.total} ns` }, duration(profile.total)),
      ` ${TIMES[profile.selection.time]}, ${count(profile.samples, "sample")}`,
      profile.total !== profile.measured &&
        h(
          "span",
          { class: "faint" },
          ` (${percentOf(profile.total, profile.measured)} of the total)`,
        ),
    ),
    h(
      "span",
      { class: "segments", role: "group", "aria-label": "Colour" },
      pick(
        "by module",
        colour === "module",
        () => app.setSetting("flame", "colour", null),
        "One hue per module",
      ),
      pick(
        "by state",
        colour === "state",
        () => app.setSetting("flame", "colour", "state"),
        "On-CPU or off-CPU",
      ),
    ),
    h(
      "span",
      { class: "segments", role: "group", "aria-label": "Lines" },
      pick(
        "lines merged",
        merge,
        () => setLines(null),
        "One frame per function",
      ),
      pick(
        "lines split",
        !merge,
        () => setLines("split"),
        "One frame per line that calls",
      ),
    ),
    codeChoice(app, profile),
    !!hits &&
      h(
        "span",
        { class: "hits", role: "status", title: `${hits.time} ns` },
        hits.nodes
          ? `found in ${count(hits.nodes, "frame")}: ${duration(hits.time)}, ${percentOf(hits.time, profile.total)} of the time`
          : "found in no frame",
      ),
    zoom >= 0 && h("button", { onclick: zoomOut, title: "Esc" }, "zoom out"),
    zoom >= 0 &&
      h(
        "button",
        { onclick: () => app.setSetting("flame", "zoom", null, true) },
        "whole",
      ),
    h("span", { class: "gap" }),
    legend(app, profile),
  ];
}
