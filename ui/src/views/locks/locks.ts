/** Who waited for what, and to whom it is attributed: by any aspects, in any order. */
import "./locks.css";
import type { Aspect, Recording, Waits } from "../../data/recording";
import { withLoopWaits } from "../../data/tasks";
import { emptyWaits } from "../../data/waits";
import { fill, h, set } from "../../elements/dom";
import { count, duration, percentOf } from "../../elements/format";
import { spanMask, threadMask } from "../../profile/selection";
import type { App, MountedView, View } from "../../shell/app";
import { withoutSettings } from "../../shell/links";
import { chips } from "./chips";
import { detail } from "./detail";
import { unknownTime, totalOf, type Group } from "./groups";
import { HolderProfile } from "./heldin";
import { label, QUESTIONS, summaryText, TITLES } from "./labels";
import {
  aspectsOf,
  AspectColumns,
  DEFAULT_ASPECTS,
  isHeldIn,
  select,
  type Parts,
} from "./parts";
import { RowTree, table, type Row } from "./rows";

export const locks: View = {
  id: "locks",
  title: "Locks",
  key: "l",
  mount(root, app) {
    const recording = app.recordings[0]!;
    const { contentions, tasks } = recording.meta.counts;
    if (!contentions && !tasks) {
      fill(root, nothing(recording));
      return { update() {}, destroy() {} };
    }
    return mounted(root, app, recording);
  },
};

function nothing(recording: Recording): HTMLElement {
  const what: unknown = recording.meta.target?.what;
  const asked = Array.isArray(what) ? what.includes("locks") : true;
  return h(
    "div",
    { class: "empty" },
    h(
      "p",
      null,
      asked
        ? "No thread waited for a lock, for the GIL or for another thread."
        : "Locks were not recorded.",
    ),
    asked
      ? null
      : h(
          "p",
          null,
          "To record them: ",
          h("code", null, "sonde run --what +locks app.py"),
        ),
  );
}

/** What the filters leave of the waits, whatever they are split by. */
interface Filtered {
  key: string;
  parts: Parts;
  all: Group;
  unnamed: number;
  /** What of it tasks waited for their event loops. */
  loopNs: number;
}

const PARTS = [
  ["all", "all waits"],
  ["held", "contention"],
  ["signals", "notifications"],
] as const;

function mounted(
  root: HTMLElement,
  app: App,
  recording: Recording,
): MountedView {
  let waits: Waits | null = null;
  let columns: AspectColumns | null = null;
  let holderProfile: HolderProfile | null = null;
  let destroyed = false;
  let filtered: Filtered | null = null;
  let rows: RowTree | null = null;

  const regroup = (order: readonly Aspect[]) => {
    const text = order.join();
    // A row is known by its values, which mean something else in another order.
    const settings: Record<string, string> = {
      ...withoutSettings(app.state.settings, "locks.row", "locks.by"),
    };
    if (text !== DEFAULT_ASPECTS.join()) settings["locks.by"] = text;
    app.set({ settings }, true);
  };
  const panel = chips(regroup);
  const questions = h("select", {
    "aria-label": "Start with a question",
    onchange: () => {
      const asked = QUESTIONS[Number(questions.value)];
      if (asked) regroup(asked[1]);
    },
  });
  const segments = PARTS.map(([id, title]) =>
    h(
      "button",
      {
        class: "segment",
        onclick: () =>
          app.setSetting("locks", "part", id === "all" ? null : id),
      },
      title,
    ),
  );
  const parts = h(
    "div",
    { class: "segments", role: "group", "aria-label": "Which waits" },
    segments,
  );
  const sentence = h("p", { class: "summary" });
  const body = table(
    recording,
    (row) => app.setSetting("locks", "row", row.path),
    (row) => app.explain(row && explained(row)),
  );
  const side = detail(recording, app);
  const scroll = h("div", { class: "scroll" }, body.element);
  fill(
    root,
    h(
      "div",
      { class: "locks-view" },
      h(
        "div",
        { class: "left" },
        h("h2", null, "Question"),
        questions,
        panel.element,
      ),
      h(
        "div",
        { class: "middle" },
        h("div", { class: "tools" }, parts),
        sentence,
        scroll,
      ),
      side.element,
    ),
  );
  fill(sentence, "Reading the waits …");
  const { contentions, tasks } = recording.meta.counts;
  void Promise.all([
    contentions ? recording.waits() : emptyWaits(0, 0),
    tasks ? recording.tasks() : null,
  ]).then(([ofThreads, ofTasks]) => {
    if (destroyed) return;
    waits = ofTasks ? withLoopWaits(recording, ofThreads, ofTasks) : ofThreads;
    columns = new AspectColumns(recording, waits);
    update();
  });

  function explained(row: Row): HTMLElement {
    const rowLabel = label(recording, waits!, row.aspect, row.group);
    const { group } = row;
    return h(
      "div",
      null,
      h(
        "p",
        { class: "detail" },
        h("span", { class: "faint" }, TITLES[row.aspect]),
        h(
          "span",
          { class: "name" },
          `${rowLabel.verb} ${rowLabel.text}`.trim(),
        ),
      ),
      h(
        "p",
        { class: "faint" },
        `${duration(group.wait_ns)} (${percentOf(group.wait_ns, rows!.all.wait_ns)}) in ` +
          `${count(group.count, "wait")}, the longest ${duration(group.max_ns)}, ` +
          `on average ${duration(group.wait_ns / Math.max(group.count, 1))}.` +
          (group.samples === undefined
            ? ""
            : ` The share is an estimate from ${count(group.samples, "CPU sample")}.`),
      ),
    );
  }

  function update(): void {
    const { state } = app;
    const by = aspectsOf(app.setting("locks", "by"));
    const only = app.setting("locks", "part") ?? "all";
    panel.show(by);
    asked(by);
    PARTS.forEach(([id], i) => set(segments[i]!, "aria-pressed", id === only));
    if (!waits || !columns) return;
    const { from, to, threads, processes, span } = state;
    const filter = JSON.stringify([only, from, to, threads, processes, span]);
    if (filter !== filtered?.key) {
      const mask = threadMask(recording, state);
      const spans = spanMask(recording, state);
      const parts = kept(waits, select(waits, mask, from, to, spans), only);
      filtered = {
        key: filter,
        parts,
        all: totalOf(waits, parts),
        unnamed: unknownTime(waits, parts),
        loopNs: loopTime(waits, parts),
      };
      rows = null;
    }
    if (!holderProfile && by.some(isHeldIn)) {
      fill(sentence, "Reading the samples …");
      void recording.samples().then((samples) => {
        if (destroyed || !waits) return;
        holderProfile = new HolderProfile(recording, samples, waits);
        update();
      });
      return;
    }
    if (!rows || rows.by.join() !== by.join()) {
      const { parts, all } = filtered;
      rows = new RowTree(waits, parts, columns, by, all, holderProfile);
    }
    const path = app.setting("locks", "row");
    const row = (path && rows.find(path)) || rows.heaviest();
    fill(
      sentence,
      summaryText(rows.all, recording.meta.undecided, filtered.loopNs),
      filtered.unnamed
        ? h(
            "span",
            { class: "faint" },
            ` For ${duration(filtered.unnamed)} the holder is unknown.`,
          )
        : null,
    );
    body.show(rows, row);
    side.show(row, waits, rows.parts);
    // Last, since it makes the browser lay out what there is.
    body.reveal();
  }

  let shownSummary = "";
  function asked(by: Aspect[]): void {
    const text = by.join();
    if (text === shownSummary) return;
    shownSummary = text;
    const at = QUESTIONS.findIndex(([, order]) => order.join() === text);
    fill(
      questions,
      at < 0
        ? h("option", { value: "", selected: true }, "custom order")
        : null,
      QUESTIONS.map(([title], i) =>
        h("option", { value: i, selected: i === at }, title),
      ),
    );
  }

  return {
    update,
    destroy() {
      destroyed = true;
      body.destroy();
    },
  };
}

function loopTime(waits: Waits, parts: Parts): number {
  const first = waits.loops?.first ?? Infinity;
  return parts.rows.reduce(
    (sum, row) => (row >= first ? sum + parts.ns[row]! : sum),
    0,
  );
}

/** Only the waits for notifications, or only the others. */
function kept(waits: Waits, parts: Parts, only: string): Parts {
  if (only === "all") return parts;
  const wanted = only === "signals" ? 1 : 0;
  return {
    ...parts,
    rows: parts.rows.filter((row) => waits.notification[row] === wanted),
  };
}
