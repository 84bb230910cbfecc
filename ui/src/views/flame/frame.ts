/** Details of a frame, its tooltip and its menu. */

import { h } from "../../elements/dom";
import {
  displayName,
  measured,
  percentOf,
  sourceLocation,
  printable,
  shorten,
} from "../../elements/format";
import { openMenu, type MenuItem } from "../../elements/menu";
import { hottestLine } from "../../profile/hotline";
import type { Profile, Tree } from "../../profile/profile";
import type { App } from "../../shell/app";
import { functionDetail } from "../../shell/detailpanel";
import {
  collapseRecursion,
  focusOn,
  hideFunction,
  sandwichFor,
  sourceAt,
} from "../../shell/links";
import { sourceLine } from "../../shell/sourceline";

/** In the bottom band. */
export function frameDetail(
  app: App,
  profile: Profile,
  tree: Tree,
  node: number,
): HTMLElement {
  return functionDetail(app, profile, {
    fn: tree.fn[node],
    line: tree.line[node],
    self: tree.self[node],
    total: tree.total[node],
    totalWaiting: tree.totalWaiting[node],
    samples: tree.totalSamples[node],
    hot: hottestLine(profile, tree, node),
  });
}

/** Beside the pointer. */
export function frameTip(
  profile: Profile,
  tree: Tree,
  node: number,
): HTMLElement {
  const fn = profile.functions[tree.fn[node]];
  const line =
    hottestLine(profile, tree, node)?.line ?? (tree.line[node] || fn.line);
  const code = h("p", { class: "code" });
  code.hidden = true;
  void sourceLine(profile.recording, fn.file, line).then((text) => {
    code.hidden = !text?.trim();
    if (text) code.textContent = `${line}  ${shorten(text.trim(), 90)}`;
  });
  return h(
    "div",
    null,
    h("p", null, h("strong", null, h("bdi", null, displayName(fn.name, 70)))),
    h(
      "p",
      null,
      `${measured(tree.total[node], profile.unit)}, ${percentOf(tree.total[node], profile.total)}`,
      h(
        "span",
        { class: "faint" },
        ` · self ${measured(tree.self[node], profile.unit)}`,
      ),
    ),
    fn.file &&
      h(
        "p",
        { class: "faint" },
        h("bdi", null, sourceLocation(fn.file, tree.line[node] || fn.line)),
      ),
    code,
  );
}

/** At a right click. */
export function frameMenu(
  app: App,
  profile: Profile,
  tree: Tree,
  node: number,
  x: number,
  y: number,
  first: MenuItem,
): void {
  const fn = tree.fn[node];
  const { name, file, line } = profile.functions[fn];
  const at = tree.line[node] || line;
  openMenu(
    [
      first,
      {
        label: "Focus: keep only stacks through it",
        run: () => app.set(focusOn(app, fn), true),
      },
      {
        label: "Hide: exclude its time",
        run: () => app.set(hideFunction(app, fn), true),
      },
      {
        label: "Collapse recursion",
        disabled: !isRecursive(tree, fn),
        run: () => app.set(collapseRecursion(app, fn), true),
      },
      {
        label: "Callers and callees",
        run: () => app.set(sandwichFor(app, fn), true),
      },
      {
        label: "Source",
        disabled: !file || file.startsWith("<") || !app.shows("source"),
        run: () => app.set(sourceAt(app, file, at), true),
      },
      {
        label: "Copy the name",
        run: () => void navigator.clipboard?.writeText(printable(name)),
      },
    ],
    x,
    y,
    displayName(name, 60),
  );
}

function isRecursive(tree: Tree, fn: number): boolean {
  for (let i = 0; i < tree.size; i++) {
    if (tree.fn[i] !== fn || !tree.totalSamples[i]) continue;
    for (let at = tree.parent[i]; at >= 0; at = tree.parent[at]) {
      if (tree.fn[at] === fn) return true;
    }
  }
  return false;
}
