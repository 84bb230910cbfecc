/** The calling context tree as a table, with a way straight to what is hot. */

import "./tree.css";
import { fill, h } from "../../elements/dom";
import {
  count,
  duration,
  displayName,
  percentOf,
  sourceLocation,
  printable,
  thousands,
  TIMES,
} from "../../elements/format";
import { timeCell, shareCell } from "../../elements/timecell";
import { VirtualList } from "../../elements/virtuallist";
import { matchTotals } from "../../profile/flat";
import type { Profile, Tree } from "../../profile/profile";
import { search } from "../../profile/search";
import type { View } from "../../shell/app";
import { codeChoice } from "../../shell/codechoice";
import { emptyState, loadingState } from "../../shell/emptystate";
import { frameDetail } from "../flame/frame";
import {
  ancestorsOf,
  hotPath,
  visibleRows,
  type VisibleRow,
} from "./visiblerows";

const MAX_INDENT = 40;
const INDENT = 12;
const MAX_OPENED = 50;

export const tree: View = {
  id: "tree",
  title: "Tree",
  key: "t",
  mount(root, app) {
    let profile: Profile | null = null;
    let shown: Tree | null = null;
    let flags: Uint8Array | null = null;
    let rows: VisibleRow[] = [];
    let open = new Set<number>();
    let selected = -1;
    let asked = 0;
    const head = h(
      "div",
      { class: "head", role: "row" },
      ["total", "", "self", "", "samples", "function"].map((label, i) =>
        h(
          "span",
          { role: "columnheader", class: i < 5 ? "number" : "" },
          label,
        ),
      ),
    );
    const table = new VirtualList(
      "treegrid",
      "Calling context tree. Right opens, left closes, h opens the hot path.",
      head,
    );
    const tools = h("div", { class: "tools" });
    const empty = h("div", { class: "empty-room" }, loadingState());
    table.element.hidden = true;
    fill(root, tools, table.element, empty);

    const draw = () => {
      rows = visibleRows(shown!, open);
      table.show(rows.length, row);
    };
    const explain = (node: number) => frameDetail(app, profile!, shown!, node);

    function row(index: number): HTMLElement {
      const { node, depth, children } = rows[index];
      const fn = profile!.functions[shown!.fn[node]];
      const state = open.has(node);
      const classes = ["row"];
      if (node === selected) classes.push("selected");
      if (flags?.[shown!.fn[node]]) classes.push("found");
      return h(
        "div",
        {
          class: classes.join(" "),
          role: "row",
          "aria-level": depth + 1,
          "aria-expanded": children ? String(state) : null,
          "aria-selected": String(node === selected),
          "data-node": node,
          onclick: () => select(node),
          ondblclick: () => toggle(node),
          onpointerenter: () => app.explain(explain(node)),
          onpointerleave: () => app.explain(null),
        },
        timeCell(shown!.total[node], profile!.total, shown!.totalWaiting[node]),
        shareCell(shown!.total[node], profile!.total),
        timeCell(shown!.self[node], profile!.total, shown!.selfWaiting[node]),
        shareCell(shown!.self[node], profile!.total),
        h(
          "span",
          { class: "number faint", role: "cell" },
          shown!.samples[node] ? thousands(shown!.samples[node]) : "",
        ),
        h(
          "span",
          {
            role: "cell",
            style: {
              "padding-left": `${Math.min(depth, MAX_INDENT) * INDENT}px`,
            },
            title: printable(`${fn.name} ${fn.file}`.slice(0, 500)),
          },
          h(
            "button",
            {
              class: "twist",
              tabindex: "-1",
              "aria-hidden": "true",
              onclick: (event: Event) => {
                event.stopPropagation();
                toggle(node);
              },
            },
            children ? (state ? "▾" : "▸") : "",
          ),
          depth > MAX_INDENT && h("span", { class: "faint" }, `${depth} `),
          h("bdi", { class: "name" }, displayName(fn.name, 90)),
          " ",
          h(
            "bdi",
            { class: "faint" },
            sourceLocation(fn.file, shown!.line[node] || fn.line, 50),
          ),
        ),
      );
    }

    function select(node: number): void {
      selected = node;
      app.explain(explain(node), true);
      draw();
    }

    function toggle(node: number): void {
      if (open.has(node)) open.delete(node);
      else open.add(node);
      selected = node;
      draw();
    }

    function openHot(): void {
      if (!shown || !profile?.total) return;
      const way = hotPath(shown, selected);
      for (const node of way) open.add(node);
      selected = way.at(-1)!;
      app.explain(explain(selected), true);
      draw();
      table.reveal(rows.findIndex((one) => one.node === selected));
    }

    table.element.addEventListener("keydown", (event) => {
      const at = rows.findIndex((one) => one.node === selected);
      const here = rows[at];
      let next = at;
      if (event.key === "ArrowDown") next = at + 1;
      else if (event.key === "ArrowUp") next = at - 1;
      else if (event.key === "PageDown") next = at + 20;
      else if (event.key === "PageUp") next = at - 20;
      else if (event.key === "Home") next = 0;
      else if (event.key === "End") next = rows.length - 1;
      else if (here && event.key === "ArrowRight") {
        if (here.children && !open.has(here.node)) toggle(here.node);
        else next = at + 1;
      } else if (here && event.key === "ArrowLeft") {
        if (open.has(here.node)) toggle(here.node);
        else
          next = rows.findIndex((one) => one.node === shown!.parent[here.node]);
      } else if (here && (event.key === "Enter" || event.key === " "))
        toggle(here.node);
      else if (event.key === "h") openHot();
      else return;
      event.preventDefault();
      if (next === at || !rows.length) return;
      next = Math.max(0, Math.min(rows.length - 1, next));
      select(rows[next].node);
      table.reveal(next);
    });

    let searched = "";
    return {
      async update() {
        const turn = ++asked;
        const found = await app.profile();
        if (turn !== asked) return;
        const merge = app.setting("tree", "lines") !== "split";
        const next = found.tree(merge);
        const first = shown === null;
        // With another shape the nodes have other numbers.
        if (shown && shown.parent !== next.parent) {
          open = new Set();
          selected = -1;
        }
        profile = found;
        shown = next;
        flags = search(found.functions, app.state.search);
        table.element.hidden = !found.total;
        fill(empty, !found.total && emptyState(app));
        fill(tools, ...toolbar(merge));
        if (!found.total) return;
        if (flags && app.state.search !== searched) {
          for (const node of ancestorsOf(next, flags, MAX_OPENED))
            open.add(node);
        }
        searched = app.state.search;
        if (!open.size && !flags)
          for (const node of hotPath(next, -1)) open.add(node);
        if (first && selected < 0) selected = hotPath(next, -1).at(-1) ?? -1;
        if (selected >= 0) app.explain(explain(selected), true);
        draw();
      },
      destroy() {
        asked++;
        table.destroy();
      },
    };

    function toolbar(merge: boolean): (HTMLElement | false)[] {
      const pick = (label: string, on: boolean, value: string | null) =>
        h(
          "button",
          {
            class: "segment",
            "aria-pressed": String(on),
            onclick: () => app.setSetting("tree", "lines", value),
          },
          label,
        );
      const hits = flags && matchTotals(shown!, flags);
      return [
        h(
          "span",
          { class: "total" },
          h(
            "strong",
            { title: `${profile!.total} ns` },
            duration(profile!.total),
          ),
          ` ${TIMES[profile!.selection.time]}, ${count(profile!.samples, "sample")}`,
        ),
        h(
          "button",
          {
            onclick: openHot,
            title: "From the selected row on, or from the top (h)",
          },
          "open the hot path",
        ),
        h(
          "button",
          {
            onclick: () => {
              open = new Set();
              selected = -1;
              draw();
            },
          },
          "close all",
        ),
        h(
          "span",
          { class: "segments", role: "group", "aria-label": "Lines" },
          pick("lines merged", merge, null),
          pick("lines split", !merge, "split"),
        ),
        codeChoice(app, profile!),
        !!hits &&
          h(
            "span",
            { class: "hits", role: "status", title: `${hits.time} ns` },
            hits.nodes
              ? `found in ${count(hits.nodes, "row")}: ${percentOf(hits.time, profile!.total)} of the time`
              : "found in no row",
          ),
      ];
    }
  },
};
