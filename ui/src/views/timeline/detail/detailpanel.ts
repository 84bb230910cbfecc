/** What is under the pointer or selected, in words. */
import type { Recording, Samples, Waits } from "../../../data/recording";
import { h } from "../../../elements/dom";
import { count, duration, moment, shorten } from "../../../elements/format";
import type { App } from "../../../shell/app";
import { stackFrames, stackLine } from "../../locks/callstack";
import { KINDS } from "../../locks/labels";
import { lossByThread, lossText } from "../lanes/cpuloss";
import {
  GIL,
  isLockState,
  LOCK,
  RUNNABLE,
  OTHER,
  RUN,
  NOTIFICATION,
  type Lane,
} from "../lanes/lane";
import type { Times } from "../lanes/times";
import { lockName, ownerWaits, type OwnerWait, type Wait } from "../lanes/wait";

const STATE_WORDS: Record<number, string> = {
  [RUN]: "on CPU",
  [GIL]: "waits for the GIL",
  [LOCK]: "waits for a lock",
  [NOTIFICATION]: "waits for a notification",
  [OTHER]: "waits: sleep or I/O",
  [RUNNABLE]: "runnable, in the run queue",
};

const SHORT: readonly (readonly [keyof Times, string])[] = [
  ["cpu", "CPU time"],
  ["gil", "waiting for the GIL"],
  ["locks", "for locks"],
  ["notifications", "for notifications"],
  ["other", "other waits"],
  ["off", "runnable"],
];

export interface Tables {
  recording: Recording;
  samples: Samples;
  waits: Waits;
  /** By row of the table of threads. */
  lanes: readonly Lane[];
  times: Times;
}

export function segmentDetail(
  tables: Tables,
  lane: Lane,
  segment: number,
): HTMLElement {
  const { recording, samples, waits } = tables;
  const state = lane.state[segment]!;
  const row = lane.row[segment]!;
  const length = lane.end[segment]! - lane.start[segment]!;
  const thread = recording.threads[lane.thread]!;
  let more = "";
  if (isLockState(state)) {
    const owner = recording.threads[waits.ownerThread[row]!];
    const who = owner ? shorten(owner.label, 60) : "an unknown thread";
    const where = stackLine(
      stackFrames(recording, waits.owner[row]!, waits.ownerFunction[row]!),
      1,
    );
    more =
      `${shorten(lockName(recording, waits.lock[row]!), 90)}, ` +
      `${state === NOTIFICATION ? "notified" : "held"} by ${who}` +
      (owner ? ` in ${where}` : "");
  } else {
    const context = samples.context[row]!;
    more =
      context < 0
        ? "stack could not be decoded"
        : "in " + stackText(recording, context);
  }
  return h(
    "div",
    null,
    h(
      "p",
      { class: "detail" },
      h("span", { class: "name" }, shorten(thread.label, 80)),
      h("span", null, `${STATE_WORDS[state]!} for ${duration(length)}`),
      h("span", { class: "faint" }, `from ${moment(lane.start[segment]!)} on`),
    ),
    h("p", { class: "detail" }, h("span", { class: "name" }, more)),
  );
}

function stackText(recording: Recording, context: number): string {
  return stackLine(stackFrames(recording, context, -1), 4);
}

/** A thread, and a way to look at it alone. */
export function threadDetail(
  tables: Tables,
  lane: Lane,
  app: App,
): HTMLElement {
  const { recording, times } = tables;
  const thread = recording.threads[lane.thread]!;
  const alone =
    app.state.threads?.length === 1 && app.state.threads[0] === lane.thread;
  const parts = SHORT.map(
    ([key, name]) => [name, times[key][lane.thread]!] as const,
  )
    .filter(([, ns]) => ns > 0)
    .map(([name, ns]) => `${name} ${duration(ns)}`);
  if (thread.corrected >= 0 && thread.corrected !== thread.cpu)
    parts.splice(
      1,
      0,
      `${duration(thread.corrected)} of it without steal time`,
    );
  const lost = lossText(lossByThread(recording)[lane.thread]!);
  return h(
    "div",
    null,
    h(
      "p",
      { class: "detail" },
      h("span", { class: "name" }, shorten(thread.label, 100)),
      h(
        "span",
        { class: "faint" },
        `tid ${thread.tid}, from ${moment(thread.start)} to ${moment(thread.end)}`,
      ),
      h(
        "button",
        {
          class: "quiet",
          onclick: () =>
            app.set({ threads: alone ? null : [lane.thread] }, true),
        },
        alone ? "show all threads" : "only this thread",
      ),
    ),
    h("p", { class: "faint" }, parts.join(" · ")),
    lost
      ? h("p", { class: "faint cpu-loss" }, `Delayed while runnable: ${lost}`)
      : null,
  );
}

/** The selected wait in full, with a way to the rows that it is part of. */
export function waitDetail(
  tables: Tables,
  wait: Wait,
  app: App,
  zoom: () => void,
): HTMLElement {
  const { recording, waits } = tables;
  const first = wait.parts[0]!.row;
  const kind = recording.meta.kinds[waits.kind[first]!] ?? "";
  const waiter = stackLine(
    stackFrames(recording, waits.waiter[first]!, waits.waiterFunction[first]!),
    3,
  );
  const thread = recording.threads[wait.thread]!;
  const settings = {
    ...app.state.settings,
    "locks.by": "lock,owner_chain,waiter_chain",
    "locks.row": `${wait.lock}`,
  };
  return h(
    "div",
    { class: "wait-words" },
    h(
      "p",
      null,
      h("b", null, shorten(thread.label, 60)),
      ` waited `,
      h("b", null, duration(wait.ns)),
      ` for ${KINDS[kind] ?? kind}: `,
      h("b", null, shorten(lockName(recording, wait.lock), 120)),
      `, in ${shorten(waiter, 120)}, from ${moment(wait.start)} on. `,
      h("button", { class: "quiet", onclick: zoom }, "zoom to it"),
      " ",
      h(
        "a",
        { href: app.link({ view: "locks", settings }) },
        "all waits for it",
      ),
    ),
    h(
      "table",
      { class: "parts" },
      h(
        "tbody",
        null,
        wait.parts.slice(0, 100).map((part) => {
          const owner = recording.threads[part.owner];
          const where = owner
            ? stackLine(
                stackFrames(
                  recording,
                  waits.owner[part.row]!,
                  waits.ownerFunction[part.row]!,
                ),
                2,
              )
            : "";
          const on =
            part.owner < 0 || wait.notification
              ? []
              : ownerWaits(
                  waits,
                  tables.lanes,
                  part.owner,
                  part.start,
                  part.end,
                );
          const row = h(
            "tr",
            null,
            h("td", { class: "number" }, duration(part.end - part.start)),
            h(
              "td",
              { class: "faint" },
              wait.notification ? "notified by" : "held by",
            ),
            h(
              "td",
              null,
              owner ? shorten(owner.label, 60) : "an unknown thread",
            ),
            h("td", { class: "faint" }, owner ? "in" : ""),
            h("td", null, shorten(where, 140)),
          );
          return [row, ...on.map((one) => ownerWaitDetail(recording, one))];
        }),
      ),
    ),
    wait.parts.length > 100
      ? h(
          "p",
          { class: "faint" },
          count(wait.parts.length - 100, "more holder"),
        )
      : null,
  );
}

function ownerWaitDetail(recording: Recording, one: OwnerWait): HTMLElement {
  const name = (thread: number) =>
    shorten(recording.threads[thread]?.label ?? "an unknown thread", 60);
  return h(
    "tr",
    { class: "passed faint" },
    h("td", { class: "number" }, duration(one.ns)),
    h("td", null, "of it"),
    h(
      "td",
      { colspan: "3" },
      `${name(one.thread)} was waiting too, for ` +
        `${shorten(lockName(recording, one.lock), 90)}, held by ${name(one.owner)}`,
    ),
  );
}
