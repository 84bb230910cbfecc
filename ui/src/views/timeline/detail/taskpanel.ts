/** Tasks and the lag of their loop in words. */
import type { Recording } from "../../../data/recording";
import { h } from "../../../elements/dom";
import {
  count,
  displayName,
  duration,
  moment,
  shorten,
} from "../../../elements/format";
import type { App } from "../../../shell/app";
import { RUN, RUNNABLE, type Lane } from "../lanes/lane";

const WORDS = new Map([
  [RUN, "ran in one step for"],
  [RUNNABLE, "was ready, and waited for its event loop, for"],
]);

/** What a task did at a moment. */
export function taskSegmentDetail(lane: Lane, i: number): HTMLElement {
  const words = WORDS.get(lane.state[i]!) ?? "was suspended for";
  return h(
    "p",
    { class: "detail" },
    h("span", { class: "name" }, displayName(lane.task!.name, 60)),
    h("span", null, `${words} ${duration(lane.end[i]! - lane.start[i]!)}`),
    h("span", { class: "faint" }, `from ${moment(lane.start[i]!)}`),
  );
}

/** The task, with a button to select it alone. */
export function taskLaneDetail(lane: Lane, app: App): HTMLElement {
  const { row, name, ready } = lane.task!;
  const alone = app.state.task === row;
  return h(
    "p",
    { class: "detail" },
    h("span", { class: "name" }, displayName(name, 60)),
    h("span", null, `waited ${duration(ready)} for its event loop`),
    h(
      "button",
      {
        class: "quiet",
        "aria-pressed": String(alone),
        onclick: () => app.set({ task: alone ? null : row }, true),
      },
      alone ? "samples of all tasks" : "only samples of this task",
    ),
  );
}

export function lagDetail(recording: Recording, lane: Lane): HTMLElement {
  const { thread, runtime, steps, lag_ns } = lane.lag!;
  return h(
    "p",
    { class: "detail" },
    h(
      "span",
      { class: "name" },
      `Event loop of ${shorten(recording.threads[thread]!.label, 60)}`,
    ),
    h("span", { class: "faint" }, `${runtime}, ${count(steps, "step")}`),
    h(
      "span",
      null,
      `callbacks were ready for ${duration(lag_ns.mean)} on average before they ran, ` +
        `the longest for ${duration(lag_ns.max)}`,
    ),
  );
}
