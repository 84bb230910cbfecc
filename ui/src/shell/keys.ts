/** Keys that work everywhere. */

import type { App, View } from "./app";
import { h } from "./dom";

const PATIENCE = 1500;

export function keyboard(
  app: App,
  views: readonly View[],
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
    else if (event.key === "g") going = Date.now() + PATIENCE;
    else if (event.key === "/") document.getElementById("search")?.focus();
    else if (event.key === "?") showKeys(views, root);
    else if (event.key === "1") app.set({ time: "running" });
    else if (event.key === "2") app.set({ time: "waiting" });
    else if (event.key === "3") app.set({ time: "wall" });
    else return;
    event.preventDefault();
  });
}

function showKeys(views: readonly View[], root: HTMLElement): void {
  const rows: [string, string][] = [
    ["/", "search functions and files"],
    ["1 2 3", "count running, waiting or wall time"],
    ...views.map((view): [string, string] => [`g ${view.key}`, view.title]),
    ["↑ ↓ ← →", "move in a flame graph, a tree or a table"],
    ["Enter", "zoom into the frame, open the row"],
    ["Esc", "one zoom step back; clear the range when the strip has the focus"],
    ["Shift F10", "menu of the frame: focus, hide, collapse recursion"],
    ["h", "in the tree: open the hot path"],
    ["+ − 0", "on the timeline: closer, farther, all of it"],
    ["n p", "on the timeline: next and previous wait of the lane"],
    ["Del", "on an aspect of the locks: do not split by it; arrows move it"],
    ["Tab", "everything else"],
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
