/** The page of a heap snapshot: a view of it, and beside it what keeps the chosen objects alive. */

import { fill, h, type Child } from "../elements/dom";
import { amount, count, duration, shorten } from "../elements/format";
import { makeTheme, type Theme } from "../elements/theme";
import { loadPreference, savePreference } from "../page/preferences";
import { DominatorView } from "./dominators";
import { duplicatesView } from "./duplicates";
import "./heap.css";
import { loadHeap, type HeapMeta } from "./load";
import { PathPanel } from "./paths";
import { TypeTable } from "./types";

const TABS = {
  types: "Types",
  dominators: "Dominators",
  duplicates: "Duplicates",
} as const;
type Tab = keyof typeof TABS;

export async function openHeap(root: HTMLElement): Promise<void> {
  const heap = await loadHeap();
  const { meta } = heap;
  let theme = currentTheme();
  const types = new TypeTable(meta, (type) => choose(type));
  const dominators = new DominatorView(heap, (target) => choose(target));
  const duplicates = duplicatesView(meta, (type) => choose(type));
  const views: Record<Tab, HTMLElement> = {
    types: types.element,
    dominators: dominators.element,
    duplicates,
  };
  const paths = new PathPanel(heap, (target) => choose(target));
  const moon = h("button", { class: "icon", id: "theme", onclick: toggle });
  const tabs = Object.entries(TABS).map(([tab, label]) =>
    h("a", { class: "tab", href: `#view=${tab}` }, label),
  );
  const view = h("main", { id: "view" });
  document.title = `${shorten(meta.file, 60)} – sonde`;
  fill(
    root,
    h(
      "header",
      { class: "top" },
      h(
        "div",
        { class: "heading" },
        h("strong", { class: "brand" }, "sonde"),
        h("bdi", { class: "program" }, shorten(meta.file, 60)),
        facts(meta),
        h("span", { class: "gap" }),
        moon,
      ),
      h("div", { class: "choices" }, h("nav", { class: "tabs" }, tabs)),
      meta.warnings.map((words) =>
        h("p", { class: "warning", role: "alert" }, `⚠ ${shorten(words, 300)}`),
      ),
    ),
    view,
  );
  window.addEventListener("hashchange", render);
  render();

  function state(): { tab: Tab; of: string | null } {
    const words = new URLSearchParams(location.hash.slice(1));
    const tab = words.get("view") ?? "";
    return {
      tab: tab in TABS ? (tab as Tab) : "types",
      of: words.get("of") || null,
    };
  }

  function choose(target: string): void {
    location.hash = new URLSearchParams({
      view: state().tab,
      of: target,
    }).toString();
  }

  function render(): void {
    const { tab, of } = state();
    document.documentElement.dataset.theme = theme.dark ? "dark" : "light";
    const words = theme.dark ? "Light colours" : "Dark colours";
    fill(moon, theme.dark ? "☀" : "☾");
    moon.title = words;
    moon.setAttribute("aria-label", words);
    tabs.forEach((link, at) => {
      const name = Object.keys(TABS)[at];
      if (name === tab) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      const query = { view: name, ...(of ? { of } : {}) };
      link.setAttribute("href", `#${new URLSearchParams(query)}`);
    });
    view.className = `heap ${tab}`;
    if (view.firstElementChild !== views[tab])
      fill(view, views[tab], paths.element);
    if (tab === "types") types.show(of);
    if (tab === "dominators") dominators.show(theme);
    paths.show(of);
  }

  function toggle(): void {
    theme = makeTheme(!theme.dark);
    savePreference("theme", theme.dark ? "dark" : "light");
    render();
  }
}

function currentTheme(): Theme {
  const chosen = loadPreference("theme");
  return makeTheme(
    chosen
      ? chosen === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches,
  );
}

function facts(meta: HeapMeta): Child[] {
  const { origin } = meta;
  const runtime = meta.runtime === "cpython" ? "CPython" : "Java";
  const estimated = meta.estimated ? " (estimated)" : "";
  const words = [
    [
      origin.pid === null ? "" : `pid ${origin.pid}`,
      `${runtime} ${origin.version}`,
    ]
      .filter(Boolean)
      .join(", "),
    `${count(meta.objects, "object")}, ${amount(meta.bytes)}${estimated}`,
    meta.unreachableObjects ? `garbage: ${amount(meta.unreachableBytes)}` : "",
    origin.pause_ns === null ? "" : `stopped for ${duration(origin.pause_ns)}`,
    origin.taken.replace("T", " ").replace("+00:00", " UTC"),
  ];
  return words
    .filter((text) => text.trim())
    .map((text) => h("span", { class: "fact" }, shorten(text, 80)));
}
