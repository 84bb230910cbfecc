/** Which object keeps how much alive: each box lies below the object that alone holds it. */

import { fill, h } from "../elements/dom";
import { amount, count, percentOf } from "../elements/format";
import type { Theme } from "../elements/theme";
import { Icicle, type Look } from "../views/flame/icicle";
import { path } from "../profile/profile";
import { dominatorTree, type DominatorTree } from "./dominatortree";
import type { DominatorRow, Heap } from "./load";
import { objectName, packageOf } from "./words";

export class DominatorView {
  readonly element: HTMLElement;
  private readonly whole: DominatorTree;
  /** What is drawn: the whole, or one object in more detail. */
  private tree: DominatorTree;
  /** The objects above the root of that. */
  private above: readonly DominatorRow[] = [];
  private readonly icicle: Icicle;
  private readonly trail = h("nav", { class: "trail", "aria-label": "Zoom" });
  private theme: Theme | null = null;
  private zoomed = -1;

  constructor(
    private readonly heap: Heap,
    private readonly choose: (target: string) => void,
  ) {
    const { meta } = heap;
    this.tree = this.whole = dominatorTree(meta.dominators);
    this.icicle = new Icicle(
      {
        point: () => {},
        select: (node) => this.choose(targetOf(this.tree.rows[node])),
        zoom: (node) => this.zoom(node),
        menu: () => {},
        tip: (node) => this.tip(node),
      },
      false,
      "Dominators: arrow keys move, Enter zooms, Escape shows all",
    );
    this.icicle.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.zoom(-1);
    });
    this.element = h(
      "div",
      { class: "dominators" },
      h(
        "div",
        { class: "tools" },
        this.trail,
        h("span", { class: "gap" }),
        h(
          "span",
          { class: "faint note" },
          `Single objects from ${percentOf(meta.minShare, 1)} of what is shown on; ` +
            "smaller ones are one box for each type, or left out. " +
            "Double-click zooms.",
        ),
      ),
      this.icicle.element,
    );
  }

  show(theme: Theme): void {
    this.theme = theme;
    this.draw();
  }

  private zoom(node: number): void {
    if (node < 0) {
      this.tree = this.whole;
      this.above = [];
    }
    this.zoomed = node;
    this.draw();
    if (node >= 0) this.detail(this.trailTo(node));
  }

  /** Draws the last of these objects with what the whole has left out. */
  private detail(trail: readonly DominatorRow[]): void {
    const row = trail[trail.length - 1];
    const { dominated } = this.heap;
    if (row.id === null || !dominated) return;
    const [tree, zoomed] = [this.tree, this.zoomed];
    dominated(row.id).then(
      (children) => {
        // Unless something else was chosen meanwhile.
        if (this.tree !== tree || this.zoomed !== zoomed) return;
        this.tree = dominatorTree([{ ...row, children }]);
        this.above = trail.slice(0, -1);
        this.zoomed = 0;
        this.draw();
      },
      () => {}, // then it stays as coarse as it is
    );
  }

  private trailTo(node: number): DominatorRow[] {
    const below = node < 0 ? [] : path(this.tree, node);
    return [...this.above, ...below.map((one) => this.tree.rows[one])];
  }

  private draw(): void {
    const { tree } = this;
    const trail = this.trailTo(this.zoomed);
    fill(
      this.trail,
      h(
        "button",
        { class: "quiet", onclick: () => this.zoom(-1) },
        `heap, ${amount(this.heap.meta.bytes)}`,
      ),
      trail.map((row, at) =>
        h(
          "button",
          {
            class: "quiet",
            onclick: () =>
              at < this.above.length
                ? this.detail(trail.slice(0, at + 1))
                : this.zoom(path(tree, this.zoomed)[at - this.above.length]),
          },
          name(row),
        ),
      ),
    );
    if (this.theme)
      this.icicle.show(tree, this.look(), this.theme, this.zoomed);
  }

  private look(): Look {
    const { rows } = this.tree;
    const colours = (node: number) =>
      this.theme!.module(packageOf(nameForColour(rows[node])));
    return {
      label: (node) => `${name(rows[node])}  ${amount(rows[node].retained)}`,
      fill: (node) => colours(node).fill,
      ink: (node) => colours(node).text,
      dim: () => false,
      running: () => null,
    };
  }

  private tip(node: number): HTMLElement {
    const row = this.tree.rows[node];
    const share = percentOf(row.retained, this.heap.meta.bytes);
    return h(
      "div",
      null,
      h("p", null, h("strong", null, name(row))),
      h("p", null, `retains ${amount(row.retained)} (${share})`),
      h(
        "p",
        { class: "faint" },
        row.id === null
          ? `${count(row.count, "object")}, ${amount(row.shallow)} themselves`
          : `${row.id}, ${amount(row.shallow)} itself`,
      ),
    );
  }
}

function name(row: DominatorRow): string {
  const words = objectName(row.type, row.text);
  return row.id === null ? `${count(row.count, "object")} of ${words}` : words;
}

/** A class has the colour of its instances. */
function nameForColour(row: DominatorRow): string {
  return row.type === "java.lang.Class" && row.text ? row.text : row.type;
}

function targetOf(row: DominatorRow): string {
  return row.id ?? row.type;
}
