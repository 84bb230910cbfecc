/** The recording on one page: words first, then findings, then what to look at. */

import "./overview.css";
import { fill, h } from "../../elements/dom";
import {
  count,
  duration,
  displayName,
  percentOf,
  sourceLocation,
  TIMES,
} from "../../elements/format";
import { flat } from "../../profile/flat";
import type { Profile } from "../../profile/profile";
import { isNarrowed } from "../../profile/selection";
import type { App, State, View } from "../../shell/app";
import { emptyState } from "../../shell/emptystate";
import { sandwichFor } from "../../shell/links";
import { blockerName, blockers } from "./blockers";
import { findings } from "./findings";
import { link } from "./link";
import { quality } from "./quality";
import { shares, targetSentence, timeSentence, type Share } from "./summary";
import { stateBar, threadBars } from "./threadbars";

const TOP = 10;

export const overview: View = {
  id: "overview",
  title: "Overview",
  key: "o",
  mount(root, app) {
    let asked = 0;
    const recording = app.recordings[0];
    const functions = h("section", { class: "card functions-card" });
    const blocking = h("section", { class: "card blockers-card" });
    const note = h("p", { class: "faint" });
    const page = h(
      "div",
      { class: "overview-page" },
      h(
        "section",
        { class: "words" },
        h("p", null, targetSentence(recording)),
        h("p", null, timeSentence(recording.meta)),
        stateBar(lifeOf(app)),
        note,
      ),
      findings(app),
      h("div", { class: "cards" }, functions, blocking, threadBars(app)),
      quality(recording.meta),
    );
    fill(root, page);
    void fillBlockers(app, blocking);
    return {
      async update() {
        const turn = ++asked;
        fill(
          note,
          isNarrowed(app.state) &&
            "The summary, findings, blockers and threads cover the whole recording; the functions cover the part selected above.",
        );
        const profile = await app.profile();
        if (turn === asked) fill(functions, ...topFunctions(app, profile));
      },
      destroy() {
        asked++;
      },
    };
  },
};

function lifeOf(app: App): Share[] {
  const { summary } = app.recordings[0].meta;
  const wall = (summary.threads as { wall_ns: number }[]).reduce(
    (sum, thread) => sum + thread.wall_ns,
    0,
  );
  return shares(summary.cpu_ns, summary.wait_ns, wall);
}

function topFunctions(app: App, profile: Profile): HTMLElement[] {
  const rows = flat(profile).slice(0, TOP);
  const heading = h(
    "h2",
    null,
    `Functions by self time, ${TIMES[app.state.time]}`,
  );
  if (!profile.total) return [heading, emptyState(app)];
  return [
    heading,
    h(
      "ol",
      { class: "bars" },
      rows.map((row) => {
        const fn = profile.functions[row.fn];
        return item(
          app,
          sandwichFor(app, row.fn),
          fn.name,
          sourceLocation(fn.file, fn.line, 36),
          row.self,
          profile.total,
        );
      }),
    ),
  ];
}

function item(
  app: App,
  change: Partial<State>,
  name: string,
  detail: string,
  ns: number,
  whole: number,
): HTMLElement {
  return h(
    "li",
    { "data-ns": ns },
    h("i", { style: { width: `${((ns / whole) * 100).toFixed(2)}%` } }),
    h("span", { class: "number" }, duration(ns)),
    h("span", { class: "number faint" }, percentOf(ns, whole)),
    h(
      "span",
      { class: "what" },
      link(app, change, displayName(name, 60)),
      " ",
      h("bdi", { class: "faint" }, detail),
    ),
  );
}

async function fillBlockers(app: App, card: HTMLElement): Promise<void> {
  const recording = app.recordings[0];
  const heading = h("h2", null, "Who blocks whom");
  if (!recording.meta.counts.contentions) {
    const what: unknown = recording.meta.target?.what;
    const recorded = !Array.isArray(what) || what.includes("locks");
    fill(
      card,
      heading,
      h(
        "p",
        { class: "faint" },
        recorded
          ? "No thread waited for a lock or the GIL."
          : [
              "Locks were not recorded; record them with: ",
              h("code", null, "sonde run --what +locks …"),
            ],
      ),
    );
    return;
  }
  fill(card, heading);
  const found = blockers(await recording.waits());
  const whole = found.reduce((sum, one) => sum + one.ns, 0);
  const there = {
    view: "locks",
    settings: { "locks.by": "owner_function,waiter_function" },
  };
  fill(
    card,
    heading,
    h(
      "ol",
      { class: "bars" },
      found
        .slice(0, TOP)
        .map((one) =>
          item(
            app,
            there,
            blockerName(recording, one.fn),
            count(one.waits, "wait"),
            one.ns,
            whole,
          ),
        ),
    ),
    !found.length &&
      h(
        "p",
        { class: "faint" },
        "Threads waited for notifications only (queues, events, joins).",
      ),
  );
}
