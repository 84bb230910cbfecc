/** The icicle of all stacks: where the time goes, at a glance. */

import "./flame.css";
import { fill, h } from "../../elements/dom";
import { count, duration, part, TIMES } from "../../elements/format";
import { matched } from "../../profile/flat";
import type { Profile, Tree } from "../../profile/profile";
import { search } from "../../profile/search";
import type { App, View } from "../../shell/app";
import { nothing, reading } from "../../shell/emptystate";
import { colouring, legend } from "./colour";
import { explained, frameMenu, tip } from "./frame";
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
    const explain = (node: number) => explained(app, profile!, tree!, node);
    const zoomed = () => Number(app.own("flame", "zoom") ?? -1);
    const icicle = new Icicle(
      {
        point: (node) => app.explain(node === null ? null : explain(node)),
        select: (node) => app.explain(explain(node), true),
        tip: (node) => tip(profile!, tree!, node),
        zoom: (node) =>
          app.setOwn("flame", "zoom", node < 0 ? null : String(node), true),
        menu: (node, x, y) =>
          frameMenu(app, profile!, tree!, node, x, y, {
            label: "Zoom here",
            run: () => app.setOwn("flame", "zoom", String(node), true),
          }),
      },
      false,
      "Flame graph. Arrow keys move between frames, Enter zooms, Escape zooms out, Shift F10 opens the menu.",
    );
    const tools = h("div", { class: "tools" });
    const empty = h("div", { class: "empty-room" }, reading());
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
      app.setOwn("flame", "zoom", above < 0 ? null : String(above), true);
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
        fill(empty, !found.total && nothing(app));
        if (!found.total) return;
        icicle.show(
          tree,
          colouring(app, found, tree, flags, merge),
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
  return app.own("flame", "lines") !== "split";
}

function toolbar(
  app: App,
  profile: Profile,
  tree: Tree,
  flags: Uint8Array | null,
  zoomOut: () => void,
): (HTMLElement | false)[] {
  const colour = app.own("flame", "colour") ?? "module";
  const merge = mergesLines(app);
  const zoom = Number(app.own("flame", "zoom") ?? -1);
  const pick = (label: string, on: boolean, run: () => void, title: string) =>
    h(
      "button",
      { class: "segment", "aria-pressed": String(on), onclick: run, title },
      label,
    );
  const setLines = (value: string | null) => {
    // Frames are numbered anew: what was zoomed into is another one now.
    const own: Record<string, string> = { ...app.state.own };
    delete own["flame.zoom"];
    if (value) own["flame.lines"] = value;
    else delete own["flame.lines"];
    app.set({ own });
  };
  const hits = flags && matched(tree, flags);
  return [
    h(
      "span",
      { class: "total" },
      h("strong", { title: `${profile.total} ns` }, duration(profile.total)),
      ` ${TIMES[profile.choice.time]}, ${count(profile.samples, "sample")}`,
      profile.total !== profile.measured &&
        h(
          "span",
          { class: "faint" },
          ` (${part(profile.total, profile.measured)} of the total)`,
        ),
    ),
    h(
      "span",
      { class: "segments", role: "group", "aria-label": "Colour" },
      pick(
        "by module",
        colour === "module",
        () => app.setOwn("flame", "colour", null),
        "One hue per module",
      ),
      pick(
        "by state",
        colour === "state",
        () => app.setOwn("flame", "colour", "state"),
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
    !!hits &&
      h(
        "span",
        { class: "hits", role: "status", title: `${hits.time} ns` },
        hits.nodes
          ? `found in ${count(hits.nodes, "frame")}: ${duration(hits.time)}, ${part(hits.time, profile.total)} of the time`
          : "found in no frame",
      ),
    zoom >= 0 && h("button", { onclick: zoomOut, title: "Esc" }, "zoom out"),
    zoom >= 0 &&
      h(
        "button",
        { onclick: () => app.setOwn("flame", "zoom", null, true) },
        "whole",
      ),
    h("span", { class: "gap" }),
    legend(app, profile),
  ];
}
