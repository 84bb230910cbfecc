/** The chosen row: how long its waits were, and both stacks side by side with their source. */
import type { Recording, Waits } from "../../data/recording";
import { fill, h } from "../../elements/dom";
import { count, duration, percentOf, shorten } from "../../elements/format";
import type { App } from "../../shell/app";
import { sourceAt } from "../../shell/links";
import { sourceLine } from "../../shell/sourceline";
import { stackFrames, shortFile, type Frame } from "./callstack";
import { chart } from "./chart";
import { lengths } from "./groups";
import { histogram } from "./histogram";
import { isNotification, label } from "./labels";
import { longest, pairs, type Pair } from "./pairs";
import type { Parts } from "./parts";
import type { Row } from "./rows";

/** Outer frames beyond this many are folded. */
const FRAMES = 14;

export interface Detail {
  readonly element: HTMLElement;
  show(row: Row | null, waits: Waits, parts: Parts): void;
}

export function detail(recording: Recording, app: App): Detail {
  const element = h("aside", {
    class: "lock-detail",
    "aria-label": "The selected row",
  });
  let shown: { row: Row; parts: Parts } | null = null;

  function show(row: Row | null, waits: Waits, parts: Parts): void {
    if (!row) {
      shown = null;
      fill(element);
      return;
    }
    if (shown?.row === row && shown.parts === parts) return;
    shown = { row, parts };
    const isNotified = isNotification(row.group);
    const rowLabel = label(recording, waits, row.aspect, row.group);
    const buckets = histogram(lengths(waits, parts, row.group.rows));
    const chains = h("div", { class: "chains" });
    const found = pairs(waits, parts, row.group.rows);
    fill(
      element,
      h("h2", null, shorten(`${rowLabel.verb} ${rowLabel.text}`.trim(), 200)),
      h(
        "p",
        { class: "figures" },
        h("b", null, duration(row.group.wait_ns)),
        ` in ${count(row.group.count, "wait")}, the longest `,
        h("b", null, duration(row.group.max_ns)),
        longestLink(waits, parts, row),
      ),
      chart(buckets, isNotified, (text) =>
        app.explain(text === null ? null : h("p", null, text)),
      ),
      chains,
    );
    pair(chains, found, 0, waits, row);
  }

  function longestLink(
    waits: Waits,
    parts: Parts,
    row: Row,
  ): HTMLElement | null {
    const found = longest(waits, parts, row.group.rows);
    if (!found || found.row >= (waits.loops?.first ?? Infinity)) return null;
    const wait = waits.wait[found.row]!;
    let [from, to] = [Infinity, -Infinity];
    for (const at of row.group.rows) {
      if (waits.wait[at] !== wait) continue;
      from = Math.min(from, waits.start[at]!);
      to = Math.max(to, waits.end[at]!);
    }
    const room = Math.max((to - from) * 0.6, 20_000);
    const window = `${Math.max(Math.round(from - room), 0)}-${Math.round(to + room)}`;
    const settings = {
      ...app.state.settings,
      "timeline.wait": String(wait),
      "timeline.span": window,
    };
    return h(
      "span",
      null,
      " · ",
      h(
        "a",
        { href: app.link({ view: "timeline", settings }) },
        "show it on the timeline",
      ),
    );
  }

  function pair(
    into: HTMLElement,
    all: Pair[],
    at: number,
    waits: Waits,
    row: Row,
  ): void {
    const now = all[at];
    if (!now) return fill(into);
    const isNotified = waits.notification[now.row] === 1;
    const waiter = stackFrames(
      recording,
      now.waiter,
      waits.waiterFunction[now.row]!,
    );
    const owner = stackFrames(
      recording,
      now.owner,
      waits.ownerFunction[now.row]!,
    );
    const isLoop = now.row >= (waits.loops?.first ?? Infinity);
    const turn = (by: number) => () => pair(into, all, at + by, waits, row);
    const waiting = recording.threads[waits.thread[now.row]!];
    const owning = recording.threads[waits.ownerThread[now.row]!];
    fill(
      into,
      all.length > 1
        ? h(
            "div",
            { class: "turn" },
            h(
              "button",
              {
                "aria-label": "Pair before",
                disabled: at === 0,
                onclick: turn(-1),
              },
              "◀",
            ),
            ` pair ${at + 1} of ${all.length} `,
            h(
              "button",
              {
                "aria-label": "Next pair",
                disabled: at === all.length - 1,
                onclick: turn(1),
              },
              "▶",
            ),
            h(
              "span",
              { class: "faint" },
              ` ${duration(now.ns)}, ${percentOf(now.ns, row.group.wait_ns)} of the row`,
            ),
          )
        : null,
      h(
        "div",
        { class: "pair" },
        column(
          "Waiter",
          waiting ? `such as ${waiting.label}` : "",
          waiter,
          isNotified || isLoop ? "waits here" : "acquires here",
          "its call stack is not known",
        ),
        column(
          isNotified ? "Notified by" : "Holder",
          owning ? `such as ${owning.label}` : "",
          owner,
          isNotified ? "notifies here" : isLoop ? "runs here" : "releases here",
          isLoop
            ? "unknown: there is no sample of what ran meanwhile"
            : "unknown: the wait timed out or had not ended, or an event was lost",
        ),
      ),
    );
  }

  function column(
    title: string,
    who: string,
    frames: Frame[],
    verb: string,
    nobody: string,
  ): HTMLElement {
    const list = h("ol", { class: "frames" });
    const draw = (most: number) => {
      fill(
        list,
        frames.slice(0, most).map((frame) => drawn(frame, verb)),
        frames.length > most
          ? h(
              "li",
              null,
              h(
                "button",
                { class: "quiet", onclick: () => draw(frames.length) },
                `${frames.length - most} more callers`,
              ),
            )
          : null,
      );
    };
    draw(FRAMES);
    return h(
      "section",
      null,
      h(
        "h3",
        null,
        title,
        " ",
        h("span", { class: "faint" }, shorten(who, 40)),
      ),
      frames.length ? list : h("p", { class: "faint" }, nobody),
    );
  }

  function drawn(frame: Frame, verb: string): HTMLElement {
    const line = h("code", { class: "source-line" });
    if (frame.line > 0) {
      void sourceLine(recording, frame.file, frame.line).then((text) => {
        const source = text?.trim();
        if (source) line.append(shorten(source, 200));
        else line.remove();
      });
    }
    return h(
      "li",
      {
        class: [
          frame.site ? "site" : "",
          frame.library && !frame.site ? "library" : "",
        ].join(" "),
      },
      frame.site ? h("span", { class: "mark" }, verb) : null,
      h("span", { class: "name" }, shorten(frame.name, 80)),
      " ",
      frame.line > 0
        ? h(
            "a",
            {
              class: "place",
              href: app.link(sourceAt(app, frame.file, frame.line)),
              title: shorten(frame.file, 300),
            },
            `${shorten(shortFile(frame.file), 40)}:${frame.line}`,
          )
        : null,
      frame.line > 0 ? line : null,
    );
  }

  return { element, show };
}
