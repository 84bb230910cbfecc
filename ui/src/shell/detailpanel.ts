/** A function or a frame in the bottom band: name, place, times, and what can be done with it. */

import { h } from "../elements/dom";
import {
  count,
  displayName,
  measured,
  percentOf,
  sourceLocation,
  shorten,
} from "../elements/format";
import type { HotLine } from "../profile/hotline";
import type { Profile } from "../profile/profile";
import { isPlaceholder } from "../profile/shape";
import type { App } from "./app";
import { focusOn, hideFunction, sandwichFor, sourceAt } from "./links";
import { sourceLine } from "./sourceline";

export interface FunctionDetail {
  readonly fn: number;
  /** The line that ran or called; 0: of the function as a whole. */
  readonly line: number;
  readonly self: number;
  readonly total: number;
  readonly totalWaiting: number;
  readonly samples: number;
  /** The line with most of the time, where `line` is that of the function. */
  readonly hot?: HotLine | null;
}

const MAX_LINE_LENGTH = 160;

export function functionDetail(
  app: App,
  profile: Profile,
  what: FunctionDetail,
): HTMLElement {
  const fn = profile.functions[what.fn];
  const line = what.line || fn.line;
  const shown = what.hot?.line ?? line;
  const share =
    what.hot && what.hot.ns < what.total
      ? `, ${percentOf(what.hot.ns, what.total, 0)}`
      : "";
  const code = h("span", { class: "code" });
  void sourceLine(profile.recording, fn.file, shown).then((text) => {
    if (text === null) return;
    const words = shorten(text.trim(), MAX_LINE_LENGTH);
    code.textContent = `line ${shown}${share}: ${words}`;
  });
  const button = (label: string, title: string, run: (event: Event) => void) =>
    h("button", { class: "quiet", title, onclick: run }, label);
  return h(
    "div",
    null,
    h(
      "div",
      { class: "detail" },
      h(
        "bdi",
        { class: "name", title: displayName(fn.name, 400) },
        displayName(fn.name, 90),
      ),
      h(
        "bdi",
        { class: "faint", title: shorten(fn.file, 400) },
        sourceLocation(fn.file, line, 50),
      ),
      h(
        "span",
        { class: "self", title: `${what.self} ${profile.unit}` },
        `self ${amountAndShare(what.self, profile)}`,
      ),
      h(
        "span",
        { class: "total", title: `${what.total} ${profile.unit}` },
        `total ${amountAndShare(what.total, profile)}`,
      ),
      profile.selection.time === "wall" &&
        h(
          "span",
          { class: "faint" },
          `${percentOf(what.totalWaiting, what.total, 0)} of it off-CPU`,
        ),
      h("span", { class: "faint" }, count(what.samples, "sample")),
    ),
    h(
      "div",
      { class: "detail" },
      button("focus", "Keep only the stacks through this function", () =>
        app.set(focusOn(app, what.fn), true),
      ),
      button("hide", "Exclude the time of this function and its callees", () =>
        app.set(hideFunction(app, what.fn), true),
      ),
      app.state.view !== "sandwich" &&
        button(
          "callers and callees",
          "Show the callers and callees of this function",
          () => app.set(sandwichFor(app, what.fn), true),
        ),
      app.state.view !== "flame" &&
        button("in the flame graph", "Search for it in the flame graph", () =>
          app.set({ view: "flame", search: fn.name }, true),
        ),
      app.shows("source") &&
        !isPlaceholder(fn) &&
        !fn.file.startsWith("<") &&
        button("source", "Show the source file with its times", () =>
          app.set(sourceAt(app, fn.file, shown), true),
        ),
      button("copy link", "Copy a link to the current view", copyLink),
      code,
    ),
  );
}

function amountAndShare(value: number, profile: Profile): string {
  return `${measured(value, profile.unit)} (${percentOf(value, profile.total)})`;
}

function copyLink(event: Event): void {
  const button = event.currentTarget as HTMLButtonElement;
  const showStatus = (text: string) => {
    button.textContent = text;
    setTimeout(() => (button.textContent = "copy link"), 1500);
  };
  // The address is written with a delay; what it will be is what counts.
  setTimeout(() => {
    const copied = navigator.clipboard?.writeText(location.href);
    if (copied)
      copied.then(
        () => showStatus("copied"),
        () => showStatus("copying not permitted"),
      );
    else showStatus("copying not permitted");
  }, 250);
}
