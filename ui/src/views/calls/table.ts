/** The table of edges: what is called, from where, how often. */

import { h } from "../../elements/dom";
import {
  displayName,
  percent,
  sourceLocation,
  printable,
  thousands,
} from "../../elements/format";
import { VirtualList } from "../../elements/virtuallist";
import type { CallEdge, CallGraph } from "../../profile/calls";
import type { App } from "../../shell/app";
import { byName, ColumnSort, nextRow, type Column } from "../../shell/sorting";
import { nameOf, shareBar } from "./labels";

type By = "weight" | "count" | "callee" | "caller";
const COLUMNS: readonly Column<By>[] = [
  {
    id: "weight",
    label: "of calls",
    title:
      "Share of all calls, ± the longer side of its 95 % confidence interval",
  },
  { id: "count", label: "counted", title: "Number of counted calls" },
  { id: "callee", label: "callee", title: "The called function", text: true },
  {
    id: "caller",
    label: "called from",
    title: "The calling function and the line of the call",
    text: true,
  },
];

/** An edge in the address. */
export function keyOf(edge: CallEdge): string {
  return `${edge.caller}.${edge.line}.${edge.callee}`;
}

export class EdgeTable {
  readonly element: HTMLElement;
  private readonly rows: VirtualList;
  private readonly sorting: ColumnSort<By>;
  private shown: CallEdge[] = [];
  private chosen = -1;
  private revealed: CallEdge | null = null;

  constructor(
    app: App,
    private readonly take: (edge: CallEdge) => void,
  ) {
    this.sorting = new ColumnSort(app, "calls", COLUMNS);
    const head = h("div", { class: "head", role: "row" }, this.sorting.heads);
    // The error has no head of its own to sort by.
    head.children[0].after(h("span", { class: "number faint" }, "±"));
    this.rows = new VirtualList("grid", "Calls", head);
    this.element = this.rows.element;
    this.element.addEventListener("keydown", (event) => {
      const next = nextRow(event, this.chosen, this.shown.length);
      if (next !== null) this.take(this.shown[next]);
    });
  }

  show(graph: CallGraph, flags: Uint8Array | null, chosen: CallEdge): void {
    const [by, down] = this.sorting.current();
    this.shown = graph.edges.filter(
      ({ callee, caller }) =>
        !flags || flags[callee] || (caller >= 0 && flags[caller]),
    );
    if (by !== "weight" || !down) {
      const sign = down ? -1 : 1;
      this.shown.sort((a, b) =>
        by === "callee" || by === "caller"
          ? sign * byName(nameOf(graph, a[by]), nameOf(graph, b[by]))
          : sign * (a[by] - b[by]),
      );
    }
    this.sorting.mark();
    this.chosen = this.shown.indexOf(chosen);
    const sought = chosen === this.revealed ? -1 : this.chosen;
    this.revealed = chosen;
    const heaviest = graph.edges[0].weight;
    this.rows.show(
      this.shown.length,
      (i) => this.row(graph, heaviest, i),
      sought,
    );
  }

  destroy(): void {
    this.rows.destroy();
  }

  private row(graph: CallGraph, heaviest: number, index: number): HTMLElement {
    const edge = this.shown[index];
    const mine = index === this.chosen;
    return h(
      "div",
      {
        class: mine ? "row selected" : "row",
        role: "row",
        "aria-selected": String(mine),
        onclick: () => this.take(edge),
      },
      shareBar(edge.weight, heaviest),
      h("span", { class: "number faint", role: "cell" }, percent(margin(edge))),
      h("span", { class: "number faint", role: "cell" }, thousands(edge.count)),
      end(graph, edge.callee, 0),
      end(graph, edge.caller, edge.line),
    );
  }
}

/** From the share to the farther end of its interval. */
function margin({ weight, interval: [low, high] }: CallEdge): number {
  return Math.max(weight - low, high - weight);
}

/** One end of an edge; the caller's with the line of the call. */
function end(graph: CallGraph, fn: number, line: number): HTMLElement {
  const name = nameOf(graph, fn);
  const { file, line: first } = graph.functions[fn] ?? { file: "", line: 0 };
  return h(
    "span",
    { role: "cell", title: printable(`${name} ${file}`.slice(0, 500)) },
    h("bdi", { class: "name" }, displayName(name, 60)),
    " ",
    h("bdi", { class: "faint" }, sourceLocation(file, line || first, 40)),
  );
}
