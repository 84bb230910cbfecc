/** Keys that work everywhere. */

import { h } from "../elements/dom";
import type { App, View } from "../shell/app";

const TIMEOUT_MS = 1500;

/** Keys with blanks between them, and what they do. */
export type Key = readonly [string, string];

export function keyboard(
  app: App,
  views: readonly View[],
  pageKeys: readonly Key[],
  root: HTMLElement,
): void {
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.matches?.("input, select, textarea")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    const view =
      Date.now() < going && views.find((one) => one.key === event.key);
    going = 0;
    if (view) app.set({ view: view.id }, true);
    else if (event.key === "g") going = Date.now() + TIMEOUT_MS;
    else if (event.key === "/") document.getElementById("search")?.focus();
    else if (event.key === "?") showKeys(views, pageKeys, root);
    else if (event.key === "1") app.set({ time: "running" });
    else if (event.key === "2") app.set({ time: "waiting" });
    else if (event.key === "3") app.set({ time: "wall" });
    else return;
    event.preventDefault();
  });
}

function showKeys(
  views: readonly View[],
  pageKeys: readonly Key[],
  root: HTMLElement,
): void {
  const rows: Key[] = [
    ["/", "search functions and files"],
    ["1 2 3", "count on-CPU, off-CPU or wall-clock time"],
    ...views.map((view): Key => [`g ${view.key}`, view.title]),
    ["↑ ↓ ← →", "move in a flame graph, a tree or a table"],
    ["Enter", "zoom into the frame, open the row"],
    ["Esc", "zoom out one step"],
    ["Shift F10", "menu of the frame: focus, hide, collapse recursion"],
    ["h", "in the tree: open the hot path"],
    ...pageKeys,
    ["Tab", "all other elements"],
  ];
  const dialog = h(
    "dialog",
    { class: "keys", "aria-label": "Keys", onclose: () => dialog.remove() },
    h("h2", null, "Keys"),
    h(
      "dl",
      null,
      rows.map(([key, what]) => [
        h(
          "dt",
          null,
          key.split(" ").map((one) => h("kbd", null, one)),
        ),
        h("dd", null, what),
      ]),
    ),
    h("form", { method: "dialog" }, h("button", null, "Close")),
  );
  root.append(dialog);
  dialog.showModal();
}
