/** What a frame can tell about itself, and what can be done with it. */

import { h } from "../../elements/dom";
import {
  duration,
  named,
  part,
  place,
  printable,
  shortened,
} from "../../elements/format";
import { openMenu, type Choice } from "../../elements/menu";
import { hottestLine } from "../../profile/hotline";
import type { Profile, Tree } from "../../profile/profile";
import type { App } from "../../shell/app";
import { told } from "../../shell/detailpanel";
import {
  collapsed,
  focusOn,
  hidden,
  sandwichOf,
  sourceAt,
} from "../../shell/links";
import { sourceLine } from "../../shell/sourceline";

/** In the bottom band. */
export function explained(
  app: App,
  profile: Profile,
  tree: Tree,
  node: number,
): HTMLElement {
  return told(app, profile, {
    fn: tree.fn[node],
    line: tree.line[node],
    own: tree.own[node],
    total: tree.total[node],
    totalWaiting: tree.totalWaiting[node],
    samples: tree.totalSamples[node],
    hot: hottestLine(profile, tree, node),
  });
}

/** Beside the pointer. */
export function tip(profile: Profile, tree: Tree, node: number): HTMLElement {
  const fn = profile.functions[tree.fn[node]];
  const line =
    hottestLine(profile, tree, node)?.line ?? (tree.line[node] || fn.line);
  const code = h("p", { class: "code" });
  code.hidden = true;
  void sourceLine(profile.recording, fn.file, line).then((text) => {
    code.hidden = !text?.trim();
    if (text) code.textContent = `${line}  ${shortened(text.trim(), 90)}`;
  });
  return h(
    "div",
    null,
    h("p", null, h("strong", null, h("bdi", null, named(fn.name, 70)))),
    h(
      "p",
      null,
      `${duration(tree.total[node])}, ${part(tree.total[node], profile.total)}`,
      h("span", { class: "faint" }, ` · self ${duration(tree.own[node])}`),
    ),
    fn.file &&
      h(
        "p",
        { class: "faint" },
        h("bdi", null, place(fn.file, tree.line[node] || fn.line)),
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
  first: Choice,
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
        run: () => app.set(hidden(app, fn), true),
      },
      {
        label: "Collapse recursion",
        disabled: !recursive(tree, fn),
        run: () => app.set(collapsed(app, fn), true),
      },
      {
        label: "Callers and callees",
        run: () => app.set(sandwichOf(app, fn), true),
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
    named(name, 60),
  );
}

function recursive(tree: Tree, fn: number): boolean {
  for (let i = 0; i < tree.size; i++) {
    if (tree.fn[i] !== fn || !tree.totalSamples[i]) continue;
    for (let at = tree.parent[i]; at >= 0; at = tree.parent[at]) {
      if (tree.fn[at] === fn) return true;
    }
  }
  return false;
}
