/** The second line: tabs of the views, and what of the recording they look at. */

import { fill, h, set } from "../elements/dom";
import { duration, moment, displayName } from "../elements/format";
import { popover } from "../elements/popover";
import { OUTSIDE } from "../profile/owncode";
import type { Time } from "../profile/selection";
import type { App, Part, View } from "../shell/app";
import type { State } from "../shell/state";
import { spanChoice } from "./spanfilter";
import { processChoice, threadChoice } from "./threadfilter";

const TIMES: readonly [Time, string, string][] = [
  ["running", "on-CPU", "On-CPU time"],
  ["waiting", "off-CPU", "Off-CPU time"],
  ["wall", "wall", "Wall-clock time: on-CPU and off-CPU"],
];

export function filters(app: App, views: readonly View[]): Part {
  const tabs = viewTabs(app, views);
  const times = timeChoice(app);
  const threads = threadChoice(app);
  const processes = processChoice(app);
  const spans = spanChoice(app);
  const range = rangeChoice(app);
  const chips = changeChips(app);
  const parts = [tabs, times, threads, processes, spans, range, chips];
  const element = h(
    "div",
    null,
    h(
      "div",
      { class: "choices" },
      tabs.element,
      h("span", { class: "gap" }),
      times.element,
      threads.element,
      app.recordings[0].processes.length > 1 && processes.element,
      app.recordings[0].meta.spans.length > 0 && spans.element,
      range.element,
    ),
    chips.element,
  );
  return { element, update: () => parts.forEach((part) => part.update()) };
}

export function viewTabs(app: App, views: readonly View[]): Part {
  const tabs = views.map((view) =>
    h(
      "a",
      {
        class: "tab",
        id: `tab-${view.id}`,
        title: `g ${view.key}`,
        onclick: (event: MouseEvent) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          app.set({ view: view.id }, true);
        },
      },
      view.title,
    ),
  );
  return {
    element: h("nav", { class: "tabs", "aria-label": "Views" }, tabs),
    update: () =>
      views.forEach((view, i) => {
        const here = view.id === app.state.view;
        set(tabs[i], "href", app.link({ view: view.id }));
        set(tabs[i], "aria-current", here ? "page" : null);
      }),
  };
}

export function timeChoice(app: App): Part {
  const times = TIMES.map(([time, label, title]) =>
    h(
      "button",
      { class: "segment", title, onclick: () => app.set({ time }) },
      label,
    ),
  );
  return {
    element: h(
      "span",
      { class: "segments", role: "group", "aria-label": "Time counted" },
      times,
    ),
    update: () =>
      TIMES.forEach(([time], i) =>
        set(times[i], "aria-pressed", time === app.state.time),
      ),
  };
}

/** The functions that are focused on, hidden and collapsed. */
export function changeChips(app: App): Part {
  const element = h("div", { class: "chips", hidden: true });
  let chipsOf = "";
  return {
    element,
    update() {
      const { focus, hide, collapse, task } = app.state;
      const changed = JSON.stringify([focus, hide, collapse, task]);
      // They are numbers of functions, which have names when the recording is there.
      if (changed === chipsOf || !app.recordings.length) return;
      chipsOf = changed;
      fill(element, ...makeChips(app));
      element.hidden = !element.firstChild;
    },
  };
}

/** What makes the page show something else than the whole, each with a way to undo it. */
function makeChips(app: App): HTMLElement[] {
  const { state } = app;
  const { functions } = app.recordings[0];
  const kinds = [
    ["focus", "only stacks through"],
    ["hide", "without"],
    ["collapse", "recursion collapsed of"],
  ] as const;
  const chips = kinds.flatMap(([key, words]) =>
    state[key].map((fn) =>
      chip(
        words,
        functions[fn]?.name ??
          (fn > functions.length ? OUTSIDE.name : "[undecodable]"),
        () =>
          app.set(
            {
              [key]: state[key].filter((other) => other !== fn),
            } as Partial<State>,
            true,
          ),
        key,
      ),
    ),
  );
  if (state.task !== null) {
    const name = app.recordings[0].meta.taskNames[state.task];
    const undo = () => app.set({ task: null }, true);
    chips.push(chip("only task", name || `task ${state.task}`, undo, "task"));
  }
  if (chips.length > 1) {
    chips.push(
      h(
        "button",
        {
          class: "quiet",
          onclick: () =>
            app.set({ focus: [], hide: [], collapse: [], task: null }, true),
        },
        "undo all",
      ),
    );
  }
  return chips;
}

function chip(
  words: string,
  name: string,
  undo: () => void,
  kind: string,
): HTMLElement {
  return h(
    "span",
    { class: `chip ${kind}` },
    `${words} `,
    h("bdi", null, displayName(name, 50)),
    h(
      "button",
      {
        class: "quiet",
        "aria-label": `Undo: ${words} ${displayName(name, 50)}`,
        onclick: undo,
      },
      "×",
    ),
  );
}

/** The range as numbers: what dragging does on the strip, for the keyboard. */
function rangeChoice(app: App) {
  const whole = app.recordings[0].meta.duration;
  const choice = popover("range", (close) => {
    const field = (value: number | null, label: string, placeholder: string) =>
      h("input", {
        type: "number",
        min: "0",
        step: "any",
        inputmode: "decimal",
        "aria-label": `${label}, in seconds`,
        placeholder,
        value: value === null ? "" : String(value / 1e9),
      });
    const from = field(app.state.from, "From", "0");
    const to = field(app.state.to, "To", (whole / 1e9).toFixed(3));
    const read = (input: HTMLInputElement): number | null => {
      const ns = Math.round(input.valueAsNumber * 1e9);
      return Number.isFinite(ns) && ns >= 0 ? ns : null;
    };
    const wrong = h("p", { class: "wrong", role: "alert" });
    return h(
      "form",
      {
        class: "range",
        onsubmit: (event: Event) => {
          event.preventDefault();
          const [start, end] = [read(from), read(to)];
          if (start !== null && end !== null && end <= start) {
            fill(wrong, "The range is empty: its end is before its start.");
            return;
          }
          app.set({ from: start, to: end }, true);
          close();
        },
      },
      h("label", null, "from ", from, " s"),
      h("label", null, "to ", to, " s"),
      wrong,
      h("button", { type: "submit" }, "Choose"),
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => {
            app.set({ from: null, to: null }, true);
            close();
          },
        },
        "Whole recording",
      ),
    );
  });
  return {
    element: choice.element,
    update() {
      const { from, to } = app.state;
      const chosen = from !== null || to !== null;
      const start = from ?? 0;
      const end = to ?? whole;
      choice.label(
        chosen
          ? `${moment(start)} – ${moment(end)} (${duration(Math.max(0, end - start))})`
          : "whole",
        chosen,
      );
    },
  };
}
