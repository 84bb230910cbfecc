/** The recording on one page: words first, then findings, then what to look at. */

import { flat } from "../../profile/flat";
import { narrowed } from "../../profile/choice";
import type { Profile } from "../../profile/profile";
import type { App, State, View } from "../../shell/app";
import { fill, h } from "../../shell/dom";
import {
  count,
  duration,
  part,
  percent,
  place,
  printable,
  shortened,
} from "../../shell/format";
import { sandwichOf } from "../../shell/links";
import { nothing } from "../../shell/nothing";
import { nameOf } from "../../shell/threads";
import { blockerName, blockers } from "./blockers";
import { evidence } from "./evidence";
import "./overview.css";
import { quality } from "./quality";
import { shares, whatRan, whereTimeWent, type Share } from "./words";

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
        h("p", null, whatRan(recording)),
        h("p", null, whereTimeWent(recording.meta)),
        bar(lifeOf(app)),
        note,
      ),
      findings(app),
      h("div", { class: "cards" }, functions, blocking, threads(app)),
      quality(recording.meta),
    );
    fill(root, page);
    void fillBlockers(app, blocking);
    return {
      async update() {
        const turn = ++asked;
        fill(
          note,
          narrowed(app.state) &&
            "These words, the findings, blockers and threads are of the whole recording; the functions are of the part chosen above.",
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

/** Time as parts of one bar, told apart by texture and by words too. */
function bar(parts: readonly Share[]): HTMLElement {
  const whole = parts.reduce((sum, share) => sum + share.ns, 0);
  return h(
    "div",
    { class: "life" },
    h(
      "div",
      {
        class: "stack",
        role: "img",
        "aria-label": "What the threads did with their time",
      },
      parts.map((share) =>
        h("span", {
          class: `piece ${share.texture}`,
          style: {
            "flex-grow": String(share.ns / whole),
            "--piece": `var(--${share.colour})`,
          },
          title: `${share.name}: ${duration(share.ns)}, ${percent(share.ns / whole)}`,
        }),
      ),
    ),
    h(
      "ul",
      { class: "pieces" },
      parts.map((share) =>
        h(
          "li",
          null,
          h("i", {
            class: `piece ${share.texture}`,
            style: { "--piece": `var(--${share.colour})` },
          }),
          `${percent(share.ns / whole)} ${share.name}`,
          h("span", { class: "faint" }, ` ${duration(share.ns)}`),
        ),
      ),
    ),
  );
}

interface Finding {
  title: string;
  detail: string;
  share: number;
  view: string;
}

function findings(app: App): HTMLElement {
  const recording = app.recordings[0];
  const found: Finding[] = recording.meta.summary.findings;
  return h(
    "section",
    { class: "findings" },
    h("h2", null, "What stands out"),
    found.length
      ? h(
          "ol",
          null,
          found.map((one) => {
            const there = evidence(recording, one.view, one.title);
            return h(
              "li",
              null,
              h(
                "span",
                { class: "weight", "aria-hidden": "true" },
                h("i", {
                  style: {
                    width: `${Math.max(2, Math.min(100, one.share * 100))}%`,
                  },
                }),
              ),
              h(
                "div",
                null,
                h("strong", null, h("bdi", null, shortened(one.title, 200))),
                h("p", null, h("bdi", null, `${shortened(one.detail, 600)}.`)),
                there
                  ? link(app, there, `look at it in ${title(there.view!)}`)
                  : h("code", { class: "faint" }, printable(one.view)),
              ),
            );
          }),
        )
      : h(
          "p",
          { class: "faint" },
          "Nothing is out of proportion. The flame graph shows where the time goes all the same.",
        ),
  );
}

function title(view: string): string {
  return (
    {
      flame: "the flame graph",
      sandwich: "the sandwich",
      source: "the source",
    }[view] ?? `the ${view} view`
  );
}

function link(app: App, change: Partial<State>, text: string): HTMLElement {
  const merged = { ...change, own: { ...app.state.own, ...change.own } };
  return h(
    "a",
    {
      href: app.link(merged),
      onclick: (event: MouseEvent) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        app.set(merged, true);
      },
    },
    text,
  );
}

function topFunctions(app: App, profile: Profile): HTMLElement[] {
  const rows = flat(profile).slice(0, TOP);
  const heading = h("h2", null, `Functions by own ${app.state.time} time`);
  if (!profile.total) return [heading, nothing(app)];
  return [
    heading,
    h(
      "ol",
      { class: "bars" },
      rows.map((row) => {
        const fn = profile.functions[row.fn];
        return item(
          app,
          sandwichOf(app, row.fn),
          fn.name,
          place(fn.file, fn.line, 36),
          row.own,
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
    h("span", { class: "number faint" }, part(ns, whole)),
    h(
      "span",
      { class: "what" },
      link(app, change, shortened(name, 60)),
      " ",
      h("bdi", { class: "faint" }, detail),
    ),
  );
}

async function fillBlockers(app: App, card: HTMLElement): Promise<void> {
  const recording = app.recordings[0];
  const heading = h("h2", null, "Who makes others wait");
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
              h("code", null, "sonde run --what cpu,locks …"),
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
    own: { "locks.by": "owner_function,waiter_function" },
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
        "Threads waited for signals only (queues, events, joins).",
      ),
  );
}

interface ThreadRow {
  tid: number;
  process: number;
  start_ns: number;
  cpu_ns: number;
  wall_ns: number;
  wait_ns: Record<string, number>;
}

function threads(app: App): HTMLElement {
  const recording = app.recordings[0];
  const rows: ThreadRow[] = recording.meta.summary.threads;
  const longest = Math.max(1, ...rows.map((row) => row.wall_ns));
  return h(
    "section",
    { class: "card threads-card" },
    h("h2", null, "Threads by CPU time"),
    h(
      "ol",
      { class: "lives" },
      rows.slice(0, TOP).map((row) => {
        const index = recording.threads.findIndex(
          (one) =>
            one.tid === row.tid &&
            one.start === row.start_ns &&
            recording.processes[one.process].pid === row.process,
        );
        const parts = shares(row.cpu_ns, row.wait_ns, row.wall_ns);
        const whole = parts.reduce((sum, share) => sum + share.ns, 0);
        return h(
          "li",
          null,
          h("span", { class: "number" }, duration(row.cpu_ns)),
          h(
            "span",
            { class: "what" },
            index >= 0
              ? link(
                  app,
                  { view: "flame", threads: [index] },
                  shortened(nameOf(recording.threads[index]), 40),
                )
              : String(row.tid),
          ),
          h(
            "span",
            {
              class: "stack",
              style: {
                width: `${((row.wall_ns / longest) * 100).toFixed(1)}%`,
              },
            },
            parts.map((share) =>
              h("span", {
                class: `piece ${share.texture}`,
                style: {
                  "flex-grow": String(share.ns / whole),
                  "--piece": `var(--${share.colour})`,
                },
                title: `${share.name}: ${duration(share.ns)}`,
              }),
            ),
          ),
        );
      }),
    ),
    rows.length > TOP &&
      h(
        "p",
        { class: "faint" },
        `and ${count(rows.length - TOP, "more", "more")}: `,
        link(app, { view: "timeline" }, "all on the timeline"),
      ),
  );
}
