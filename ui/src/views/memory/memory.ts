/** Flame graph of bytes: what was allocated in the selected time, or is alive at its end. */

import "../flame/flame.css";
import "./memory.css";
import { fill, h } from "../../elements/dom";
import { amount, count, moment } from "../../elements/format";
import { sumObjects, type Memory } from "../../profile/memory";
import type { Profile, Tree } from "../../profile/profile";
import { search } from "../../profile/search";
import type { App, View } from "../../shell/app";
import { codeChoice } from "../../shell/codechoice";
import { loadingState } from "../../shell/emptystate";
import { frameColours } from "../flame/colour";
import { frameDetail, frameMenu, frameTip } from "../flame/frame";
import { Icicle } from "../flame/icicle";

export const memory: View = {
  id: "memory",
  title: "Memory",
  key: "m",
  mount(root, app) {
    let profile: Profile | null = null;
    let tree: Tree | null = null;
    let asked = 0;
    const explain = (node: number) => frameDetail(app, profile!, tree!, node);
    const zoom = (node: number) =>
      app.setSetting("memory", "zoom", node < 0 ? null : String(node), true);
    const icicle = new Icicle(
      {
        point: (node) => app.explain(node === null ? null : explain(node)),
        select: (node) => app.explain(explain(node), true),
        tip: (node) => frameTip(profile!, tree!, node),
        zoom,
        menu: (node, x, y) =>
          frameMenu(app, profile!, tree!, node, x, y, {
            label: "Zoom here",
            run: () => zoom(node),
          }),
      },
      false,
      "Flame graph of bytes. Arrow keys move between frames, Enter zooms.",
    );
    const tools = h("div", { class: "tools" });
    const empty = h("div", { class: "empty-room" }, loadingState());
    icicle.element.hidden = true;
    fill(root, tools, icicle.element, empty);

    return {
      async update() {
        const turn = ++asked;
        const found = await profileOf(app);
        if (turn !== asked) return;
        profile = found;
        tree = found.tree(true);
        fill(tools, ...toolbar(app, found));
        icicle.element.hidden = !found.total;
        fill(empty, !found.total && nothing(app));
        if (!found.total) return;
        const flags = search(found.functions, app.state.search);
        const zoomed = Number(app.setting("memory", "zoom") ?? -1);
        icicle.show(
          tree,
          frameColours(app, found, tree, flags, true),
          app.theme,
          zoomed < tree.size ? zoomed : -1,
        );
      },
      destroy() {
        asked++;
        icicle.destroy();
      },
    };
  },
};

function counted(app: App): Memory {
  const { survival } = app.recordings[0].meta;
  return survival && app.setting("memory", "of") !== "allocated"
    ? "alive"
    : "allocated";
}

async function profileOf(app: App): Promise<Profile> {
  const recording = app.recordings[0];
  const { threads, processes, from, to, focus, hide, collapse, mine } =
    app.state;
  const selection = {
    time: "running",
    span: null,
    threads,
    processes,
    from,
    to,
  } as const;
  const [profiler, objects] = await Promise.all([
    app.profiler(0),
    recording.objects(),
  ]);
  const sums = sumObjects(recording, objects, selection, counted(app));
  const changes = { focus, hide, collapse, mine };
  return profiler.profileOf(sums, selection, changes, "bytes");
}

function toolbar(app: App, profile: Profile): (HTMLElement | false)[] {
  const { meta } = app.recordings[0];
  const { from, to } = app.state;
  const of = counted(app);
  const when =
    of === "alive"
      ? to === null
        ? "alive in the end"
        : `alive after ${moment(to)}`
      : from === null && to === null
        ? "allocated"
        : `allocated from ${moment(from ?? 0)} to ${moment(to ?? meta.duration)}`;
  const pick = (label: string, value: Memory, title: string) =>
    h(
      "button",
      {
        class: "segment",
        title,
        "aria-pressed": String(of === value),
        onclick: () => app.setSetting("memory", "of", value),
      },
      label,
    );
  return [
    h(
      "span",
      { class: "total" },
      h("strong", { title: `${profile.total} bytes` }, amount(profile.total)),
      ` ${when}, estimated from ${count(profile.samples, "sample")}`,
    ),
    meta.survival &&
      h(
        "span",
        { class: "segments", role: "group", "aria-label": "Bytes counted" },
        pick("alive", "alive", "Alive at the end of the selected time"),
        pick("allocated", "allocated", "Allocated in the selected time"),
      ),
    codeChoice(app, profile),
  ];
}

function nothing(app: App): HTMLElement {
  const words =
    counted(app) === "alive"
      ? "No sampled object was alive then."
      : "No allocation was sampled in this part of the recording.";
  return h("p", { class: "empty" }, words);
}
