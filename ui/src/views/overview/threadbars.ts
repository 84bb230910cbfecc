/** What threads did with their time, as bars of parts. */

import { threadName } from "../../data/names";
import { h } from "../../elements/dom";
import { count, duration, displayName, percent } from "../../elements/format";
import type { App } from "../../shell/app";
import { link } from "./link";
import { shares, type Share } from "./summary";

const TOP = 10;

/** Time as parts of one bar, distinguished by texture and by words, too. */
export function stateBar(parts: readonly Share[]): HTMLElement {
  const whole = parts.reduce((sum, share) => sum + share.ns, 0);
  return h(
    "div",
    { class: "state-bar" },
    h(
      "div",
      {
        class: "stack",
        role: "img",
        "aria-label": "Thread states",
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

interface ThreadRow {
  tid: number;
  process: number;
  start_ns: number;
  cpu_ns: number;
  wall_ns: number;
  wait_ns: Record<string, number>;
}

export function threadBars(app: App): HTMLElement {
  const recording = app.recordings[0];
  const rows: ThreadRow[] = recording.meta.summary.threads;
  const longest = Math.max(1, ...rows.map((row) => row.wall_ns));
  return h(
    "section",
    { class: "card threads-card" },
    h("h2", null, "Threads by CPU time"),
    h(
      "ol",
      { class: "thread-bars" },
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
                  displayName(threadName(recording.threads[index]), 40),
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
