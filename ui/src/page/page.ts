/** The window: three bands, the state behind them, and what makes them one. */

import type { Recording } from "../data/recording";
import { fill, h, perFrame } from "../elements/dom";
import { makeTheme, modulesOf, type Theme } from "../elements/theme";
import { Profiler, type Profile } from "../profile/profile";
import type { App, Subject, MountedView, Part, View } from "../shell/app";
import { fromHash, toHash, type State } from "../shell/state";
import { bottomBand } from "./bottomband";
import { filters } from "./filters";
import { heading } from "./heading";
import { keyboard, type Key } from "./keyboard";
import { savePreference, loadPreference } from "./preferences";
import { strip } from "./strip";

const URL_DELAY_MS = 200;

/** What one page has and another has not. */
export interface PageSpec {
  readonly views: readonly View[];
  /** Another object when something else is looked at. */
  subject(): Subject;
  /** The top band, from above. */
  bands(app: App, toggleTheme: () => void): Part[];
  /** Keys that other pages do not have. */
  readonly keys: readonly Key[];
}

/** The page of one recording, or of two. */
export function recordingPage(
  recordings: Recording[],
  views: readonly View[],
): PageSpec {
  const made: Promise<Profiler>[] = [];
  const subject: Subject = {
    recordings,
    profiler: (which) =>
      (made[which] ??= recordings[which]
        .samples()
        .then((samples) => new Profiler(recordings[which], samples))),
  };
  const { counts, flow } = recordings[0].meta;
  const without = new Set([
    ...(counts.objects > 0 ? [] : ["memory"]),
    ...(flow ? [] : ["flow"]),
  ]);
  const shown = views.filter((view) => !without.has(view.id));
  return {
    views: shown,
    subject: () => subject,
    bands: (app, toggleTheme) => [
      heading(app, toggleTheme),
      filters(app, shown),
      strip(app),
    ],
    keys: [
      ["Esc", "clear the range when the strip has the focus"],
      ["+ − 0", "on the timeline: zoom in, zoom out, show all"],
      ["n p", "on the timeline: next and previous wait of the lane"],
      [
        "Del",
        "on an aspect of the locks: stop grouping by it; arrow keys move it",
      ],
    ],
  };
}

export function openPage(root: HTMLElement, made: PageSpec): App {
  const { views } = made;
  /** What an address means here: of a page without the view it names, the first one. */
  const read = (hash: string): State => {
    const found = fromHash(hash);
    return views.some((view) => view.id === found.view)
      ? found
      : { ...found, view: views[0].id };
  };
  let state = read(location.hash);
  let shown = made.subject();
  let modules = modulesOf(shown.recordings);
  let theme = currentTheme(modules);
  let mounted: { view: View; it: MountedView } | null = null;
  let written = toHash(state);
  let writing = 0;
  let profiles: ReturnType<typeof profileCache>[] = [];

  const app: App = {
    get recordings() {
      return shown.recordings;
    },
    get state() {
      return state;
    },
    get theme() {
      return theme;
    },
    set(change, push = false) {
      if (isSame(state, change)) return;
      state = { ...state, ...change };
      write(push);
      renderSoon();
    },
    setSetting(view, key, value, push = false) {
      const settings = { ...state.settings };
      if (value === null) delete settings[`${view}.${key}`];
      else settings[`${view}.${key}`] = value;
      app.set({ settings }, push);
    },
    setting: (view, key) => state.settings[`${view}.${key}`] ?? null,
    profile: (which = 0) =>
      (profiles[which] ??= profileCache())(
        state,
        () => shown.profiler(which),
        which > 0,
      ),
    profiler: (which) => shown.profiler(which),
    shows: (view) => views.some((one) => one.id === view),
    refresh: () => renderSoon(),
    explain: (node, keep) => band.show(node, keep),
    link: (change) => `#${toHash({ ...state, ...change })}`,
  };

  // A pointer moves more often than the screen is drawn.
  const renderSoon = perFrame(() => render());
  const band = bottomBand();
  const parts = made.bands(app, toggleTheme);
  const stage = h("main", { id: "view", tabindex: "-1" });
  fill(
    root,
    h("header", { class: "top" }, ...parts.map((part) => part.element)),
    stage,
    band.element,
  );
  keyboard(app, views, made.keys, root);

  /** Steps for the back button are written at once, the rest after a pause. */
  function write(push: boolean): void {
    clearTimeout(writing);
    const put = () => {
      const hash = toHash(state);
      if (hash === written) return;
      written = hash;
      try {
        history[push ? "pushState" : "replaceState"](null, "", `#${hash}`);
      } catch {
        // A page from disk may not be allowed to; then the address just follows.
        location.hash = hash;
      }
    };
    if (push) put();
    else writing = window.setTimeout(put, URL_DELAY_MS);
  }

  function render(): void {
    const view = views.find((one) => one.id === state.view) ?? views[0];
    const now = made.subject();
    if (now !== shown) replaceSubject(now);
    document.documentElement.dataset.theme = theme.dark ? "dark" : "light";
    for (const part of parts) part.update();
    if (mounted?.view !== view) {
      mounted?.it.destroy();
      band.clear();
      fill(stage);
      stage.className = `view ${view.id}`;
      mounted = { view, it: view.mount(stage, app) };
    }
    mounted.it.update();
  }

  function replaceSubject(now: Subject): void {
    shown = now;
    profiles = [];
    // Those that were there before keep their colours.
    modules = [...new Set([...modules, ...modulesOf(now.recordings)])];
    theme = makeTheme(theme.dark, modules);
    mounted?.it.destroy();
    mounted = null;
  }

  function toggleTheme(): void {
    theme = makeTheme(!theme.dark, modules);
    savePreference("theme", theme.dark ? "dark" : "light");
    render();
  }

  window.addEventListener("resize", renderSoon);
  const follow = () => {
    const hash = location.hash.replace(/^#/, "");
    if (hash === written) return;
    clearTimeout(writing);
    state = read(hash);
    written = toHash(state);
    render();
  };
  window.addEventListener("popstate", follow);
  window.addEventListener("hashchange", follow);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    theme = currentTheme(modules);
    render();
  });
  // A part that cannot be read must not leave an empty view without a word.
  window.addEventListener("unhandledrejection", (event) => {
    const why =
      event.reason instanceof Error ? event.reason.message : event.reason;
    band.show(h("p", { class: "wrong", role: "alert" }, `Error: ${why}`), true);
  });
  render();
  return app;
}

function currentTheme(modules: readonly string[]): Theme {
  const chosen = loadPreference("theme");
  return makeTheme(
    chosen
      ? chosen === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches,
    modules,
  );
}

function isSame(state: State, change: Partial<State>): boolean {
  return Object.entries(change).every(
    ([key, value]) =>
      JSON.stringify(state[key as keyof State]) === JSON.stringify(value),
  );
}

/** The views that can show the program's own code alone. */
const OF_OWN_CODE: readonly string[] = ["flame", "tree"];

/** The profile of the latest filters: several views ask for the same one. */
function profileCache() {
  let key = "";
  let made: Promise<Profile> | null = null;
  return (
    state: State,
    profiler: () => Promise<Profiler>,
    other: boolean,
  ): Promise<Profile> => {
    // Threads, processes, spans and functions are numbered within the first recording.
    const selection = {
      time: state.time,
      threads: other ? null : state.threads,
      processes: other ? null : state.processes,
      span: other ? null : state.span,
      task: other ? null : state.task,
      from: state.from,
      to: state.to,
    };
    const changes = {
      focus: other ? [] : state.focus,
      hide: other ? [] : state.hide,
      collapse: other ? [] : state.collapse,
      mine: state.mine && OF_OWN_CODE.includes(state.view),
    };
    const wanted = JSON.stringify([selection, changes]);
    if (!made || wanted !== key) {
      key = wanted;
      made = profiler().then((it) => it.profile(selection, changes));
    }
    return made;
  };
}
