/** The first line: what was recorded, how long, how far to trust it; search and theme. */

import { programName, runtimeName } from "../data/names";
import { fill, h, type Child } from "../elements/dom";
import {
  count,
  duration,
  percent,
  shorten,
  thousands,
} from "../elements/format";
import type { App, Part } from "../shell/app";

export function heading(app: App, toggleTheme: () => void): Part {
  const { meta, processes, threads } = app.recordings[0];
  const facts = [
    h("span", { class: "fact" }, versionsOf(app)),
    h("span", { class: "fact" }, duration(meta.duration)),
    h("span", { class: "fact" }, count(threads.length, "thread")),
    processes.length > 1 &&
      h(
        "span",
        { class: "fact" },
        count(processes.length, "process", "processes"),
      ),
    trust(app),
  ];
  return headline(app, toggleTheme, programName(meta.target, meta.file), facts);
}

/** What is looked at by name, what is known of it; search and theme. */
export function headline(
  app: App,
  toggleTheme: () => void,
  name: string,
  facts: readonly Child[],
): Part {
  const search = h("input", {
    id: "search",
    type: "search",
    placeholder: "search functions and files",
    "aria-label": "Search functions and files",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => app.set({ search: search.value }),
  });
  const moon = h("button", {
    class: "icon",
    id: "theme",
    onclick: toggleTheme,
  });
  document.title = `${shorten(name, 60)} – sonde`;
  const element = h(
    "div",
    { class: "heading" },
    h("strong", { class: "brand" }, "sonde"),
    h(
      "bdi",
      { class: "program", title: shorten(name, 400) },
      shorten(name, 60),
    ),
    facts,
    h("span", { class: "gap" }),
    h("label", { class: "search" }, search, h("kbd", null, "/")),
    moon,
  );
  return {
    element,
    update() {
      if (search.value !== app.state.search) search.value = app.state.search;
      fill(moon, app.theme.dark ? "☀" : "☾");
      moon.setAttribute(
        "aria-label",
        app.theme.dark ? "Light colours" : "Dark colours",
      );
      moon.title = moon.getAttribute("aria-label")!;
    },
  };
}

function versionsOf(app: App): string {
  const { processes, meta } = app.recordings[0];
  const versions = new Set(
    processes.map(
      (process) => `${runtimeName(process.runtime)} ${process.version}`,
    ),
  );
  const pid = meta.target?.pid ?? processes[0]?.pid;
  const words = [
    pid === undefined ? "" : `pid ${pid}`,
    ...[...versions].sort(),
  ];
  return shorten(words.filter(Boolean).join(", "), 60);
}

function trust(app: App): HTMLElement {
  const { quality } = app.recordings[0].meta;
  const problems: { title: string }[] = quality?.problems ?? [];
  const words = [
    `${thousands(quality?.lost ?? 0)} lost`,
    `${thousands(quality?.undecodable ?? 0)} undecodable`,
  ];
  if (typeof quality?.cost === "number")
    words.push(`${percent(quality.cost)} overhead`);
  return h(
    "a",
    {
      class: `fact trust ${problems.length ? "poor" : "good"}`,
      href: "#",
      onclick: (event: Event) => {
        event.preventDefault();
        app.set({ view: "overview" }, true);
      },
      title: problems.length
        ? count(problems.length, "problem")
        : "No problems found",
    },
    problems.length
      ? `⚠ ${shorten(problems[0].title, 50)}`
      : `✓ ${words.join(", ")}`,
    problems.length > 1 && ` and ${problems.length - 1} more`,
  );
}
