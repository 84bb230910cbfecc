/** The chosen edge: what else its line calls, who else calls its callee, and advice for the whole. */

import type { CallAdvice, Fn } from "../../data/recording";
import { fill, h } from "../../elements/dom";
import {
  count,
  displayName,
  percent,
  sourceLocation,
  shorten,
} from "../../elements/format";
import type { CallEdge, CallGraph } from "../../profile/calls";
import { isPlaceholder } from "../../profile/shape";
import type { App } from "../../shell/app";
import { sandwichFor, sourceAt } from "../../shell/links";
import { sourceLine } from "../../shell/sourceline";
import { nameOf, shareBar } from "./labels";

/** Edges listed beside the chosen one, and pieces of advice of each kind. */
const MAX_ROWS = 10;
const ADVICE = [
  ["inline", "Worth inlining"],
  ["loop", "Calls in loops"],
] as const;

export class Detail {
  readonly element = h("aside", {
    class: "call-detail",
    "aria-label": "The selected calls",
  });
  private shown: readonly [CallGraph, CallEdge] | null = null;

  constructor(
    private readonly app: App,
    private readonly take: (edge: CallEdge) => void,
  ) {}

  show(graph: CallGraph, edge: CallEdge): void {
    // Drawing it again would take the focus from its buttons.
    if (this.shown?.[0] === graph && this.shown[1] === edge) return;
    this.shown = [graph, edge];
    const { caller, line, callee } = edge;
    const here = graph.edges.filter(
      (other) => other.caller === caller && other.line === line,
    );
    const there = graph.edges.filter((other) => other.callee === callee);
    const name = displayName(nameOf(graph, callee), 60);
    const called = graph.functions[callee];
    fill(
      this.element,
      h(
        "h2",
        null,
        h("bdi", null, name),
        " ",
        h(
          "bdi",
          { class: "faint" },
          sourceLocation(called.file, called.line, 40),
        ),
      ),
      h(
        "p",
        null,
        h("b", null, percent(edge.weight)),
        ` of all calls (${percent(edge.interval[0])} to ${percent(edge.interval[1])}), `,
        `${count(edge.count, "call")} counted here`,
        this.link(graph, callee),
      ),
      caller >= 0 && [
        h("h3", null, "Called from"),
        this.place(graph.functions[caller], line),
        h("h3", null, "Callees of this line"),
        this.list(graph, here, edge, (other) => [other.callee, 0]),
      ],
      h("h3", null, "Callers"),
      this.list(graph, there, edge, (other) => [other.caller, other.line]),
      ADVICE.map(([kind, title]) => this.advice(kind, title)),
    );
  }

  private link(graph: CallGraph, fn: number): HTMLElement | false {
    const known = fn < this.app.recordings[0].functions.length;
    if (!known || isPlaceholder(graph.functions[fn])) return false;
    return h(
      "span",
      null,
      " · ",
      h(
        "a",
        { href: this.app.link(sandwichFor(this.app, fn)) },
        "its time in the sandwich view",
      ),
    );
  }

  /** A line of a function, with its text where that can be had. */
  private place(fn: Fn, line: number): HTMLElement {
    const code = h("code", { class: "source-line" });
    void sourceLine(this.app.recordings[0], fn.file, line).then((text) => {
      const source = text?.trim();
      if (source) code.append(shorten(source, 200));
      else code.remove();
    });
    const location = sourceLocation(fn.file, line, 50);
    const name = h("bdi", { class: "name" }, displayName(fn.name, 60));
    const opens = line > 0 && !fn.file.startsWith("<");
    return h(
      "p",
      { class: "call-site" },
      name,
      " ",
      opens
        ? h(
            "a",
            {
              class: "place",
              href: this.app.link(sourceAt(this.app, fn.file, line)),
              title: shorten(fn.file, 300),
            },
            location,
          )
        : h("bdi", { class: "faint" }, location),
      code,
    );
  }

  /** Edges that share an end with the chosen one, by the other end. */
  private list(
    graph: CallGraph,
    edges: readonly CallEdge[],
    chosen: CallEdge,
    end: (edge: CallEdge) => readonly [fn: number, line: number],
  ): HTMLElement {
    const whole = edges.reduce((sum, edge) => sum + edge.weight, 0);
    const left = edges.length - MAX_ROWS;
    return h(
      "ul",
      { class: "call-list" },
      edges.slice(0, MAX_ROWS).map((edge) => {
        const [number, line] = end(edge);
        const fn = graph.functions[number];
        return h(
          "li",
          null,
          shareBar(whole > 0 ? edge.weight / whole : 0, 1),
          h(
            "button",
            {
              class: "quiet",
              "aria-current": edge === chosen ? "true" : null,
              onclick: () => this.take(edge),
            },
            h("bdi", null, displayName(nameOf(graph, number), 44)),
            " ",
            fn &&
              h(
                "bdi",
                { class: "faint" },
                sourceLocation(fn.file, line || fn.line, 30),
              ),
          ),
        );
      }),
      left > 0 && h("li", { class: "faint" }, `and ${count(left, "more")}`),
    );
  }

  private advice(kind: CallAdvice["kind"], title: string): HTMLElement | false {
    const { meta, functions } = this.app.recordings[0];
    const pieces = meta.advice.filter((piece) => piece.kind === kind);
    if (!pieces.length) return false;
    return h(
      "section",
      { class: "call-advice" },
      h("h3", null, `${title}, in the whole recording`),
      pieces
        .slice(0, MAX_ROWS)
        .map((piece) => [
          this.place(functions[piece.caller], piece.line),
          h(
            "p",
            null,
            h("b", null, percent(piece.weight)),
            ` of all calls: ${shorten(piece.said, 300)}.`,
          ),
        ]),
    );
  }
}
