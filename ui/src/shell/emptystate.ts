/** Why there is no time to show, and what would give some. */

import { h } from "../elements/dom";
import { TIMES } from "../elements/format";
import { isNarrowed } from "../profile/selection";
import type { App } from "./app";

export function emptyState(app: App): HTMLElement {
  const { state } = app;
  const changed = state.focus.length + state.hide.length > 0;
  const what: unknown = app.recordings[0].meta.target?.what;
  const waits = Array.isArray(what) && what.includes("waits");
  const undo = (label: string, change: Parameters<App["set"]>[0]) =>
    h("button", { onclick: () => app.set(change, true) }, label);
  if (isNarrowed(state) || changed) {
    return h(
      "div",
      { class: "empty" },
      h(
        "p",
        null,
        `No ${TIMES[state.time]} time in this part of the recording.`,
      ),
      undo("Show the whole recording", {
        threads: null,
        processes: null,
        span: null,
        from: null,
        to: null,
        focus: [],
        hide: [],
      }),
    );
  }
  if (state.time !== "running" && !waits) {
    return h(
      "div",
      { class: "empty" },
      h(
        "p",
        null,
        "No off-CPU time was recorded; record it with: ",
        h("code", null, "sonde run --what +waits …"),
      ),
      app.shows("locks") &&
        h("p", null, "Waits for locks and the GIL are in the view Locks."),
      undo("Show the on-CPU time", { time: "running" }),
    );
  }
  return h(
    "p",
    { class: "empty" },
    `No ${TIMES[state.time]} time was recorded.`,
  );
}

/** Until the samples are there. */
export function loadingState(): HTMLElement {
  return h("p", { class: "empty", role: "status" }, "Reading the samples …");
}
