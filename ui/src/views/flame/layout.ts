/** Where frames are drawn: each as wide as its share, children below, heaviest first. */

import { heaviestChildren, type Tree } from "../../profile/profile";

/** Narrower frames are not drawn one by one: they would be dust. */
export const MIN_WIDTH = 0.6;

export interface Box {
  readonly node: number;
  readonly x: number;
  readonly width: number;
}

export interface Row {
  readonly boxes: Box[];
  /** Places where frames are that are too narrow to draw. */
  readonly dust: { x: number; width: number }[];
}

/** A window onto the width of the whole tree, in its unit of time. */
export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** Children in order, sorted when first looked at: most of a large tree is never on the screen. */
export class Order {
  private readonly known = new Map<number, number[]>();
  private starts: Float64Array | null = null;
  private whole: number | null = null;

  constructor(readonly tree: Tree) {}

  children(node: number): readonly number[] {
    let found = this.known.get(node);
    if (!found)
      this.known.set(node, (found = heaviestChildren(this.tree, node)));
    return found;
  }

  get width(): number {
    return this.below(-1);
  }

  /** The time of all children of a node together; of -1: of all roots. */
  below(node: number): number {
    if (node >= 0) return this.tree.total[node] - this.tree.self[node];
    return (this.whole ??= this.children(-1).reduce(
      (sum, root) => sum + this.tree.total[root],
      0,
    ));
  }

  /** Where a node begins, in time from the left of the whole. */
  start(node: number): number {
    this.starts ??= new Float64Array(this.tree.size).fill(NaN);
    const up: number[] = [];
    let at = node;
    while (at >= 0 && Number.isNaN(this.starts[at])) {
      up.push(at);
      at = this.tree.parent[at];
    }
    for (const next of up.reverse()) {
      const parent = this.tree.parent[next];
      let x = parent < 0 ? 0 : this.starts[parent];
      for (const child of this.children(parent)) {
        this.starts[child] = x;
        x += this.tree.total[child];
      }
      // A node without time is not drawn; it begins where its parent does.
      if (Number.isNaN(this.starts[next]))
        this.starts[next] = parent < 0 ? 0 : this.starts[parent];
    }
    return this.starts[node];
  }

  interval(node: number): Interval {
    if (node < 0) return { from: 0, to: this.width };
    const from = this.start(node);
    return { from, to: from + this.tree.total[node] };
  }
}

/** The rows of frames within a span, drawn so many pixels wide. */
export function layout(
  order: Order,
  interval: Interval,
  pixels: number,
): Row[] {
  const { tree } = order;
  const scale =
    pixels / Math.max(interval.to - interval.from, Number.MIN_VALUE);
  const narrowest = MIN_WIDTH / scale;
  const rows: Row[] = [];
  // Stacks of our own, since recorded ones are deeper than the browser's may go.
  const nodes = [-1];
  const starts = [0];
  while (nodes.length) {
    const node = nodes.pop()!;
    let at = starts.pop()!;
    const depth = node < 0 ? 0 : tree.depth[node] + 1;
    const end = at + order.below(node);
    const row = (rows[depth] ??= { boxes: [], dust: [] });
    for (const child of order.children(node)) {
      const wide = tree.total[child];
      if (at >= interval.to) break;
      if (wide < narrowest) {
        // The heaviest come first: all that follow are as narrow.
        dust(row, at, end);
        break;
      }
      if (at + wide > interval.from) {
        const left = Math.max(0, (at - interval.from) * scale);
        const right = Math.min(pixels, (at + wide - interval.from) * scale);
        row.boxes.push({ node: child, x: left, width: right - left });
        nodes.push(child);
        starts.push(at);
      }
      at += wide;
    }
  }
  while (rows.length && !rows.at(-1)!.boxes.length && !rows.at(-1)!.dust.length)
    rows.pop();
  return rows;

  function dust(row: Row, from: number, to: number): void {
    const left = Math.max(0, (from - interval.from) * scale);
    const right = Math.min(pixels, (to - interval.from) * scale);
    if (right - left >= MIN_WIDTH)
      row.dust.push({ x: left, width: right - left });
  }
}
