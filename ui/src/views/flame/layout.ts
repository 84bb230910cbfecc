/** Where the frames of a tree stand: each as wide as its share, children below, heaviest first. */

import { heaviest, type Tree } from "../../profile/profile";

/** Narrower frames are not drawn one by one: they would be dust. */
export const NARROWEST = 0.6;

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
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Children in order, sorted when first looked at: most of a large tree is never on the screen. */
export class Order {
  private readonly known = new Map<number, number[]>();
  private starts: Float64Array | null = null;

  constructor(readonly tree: Tree) {}

  children(node: number): readonly number[] {
    let found = this.known.get(node);
    if (!found) this.known.set(node, (found = heaviest(this.tree, node)));
    return found;
  }

  get width(): number {
    return this.children(-1).reduce(
      (sum, root) => sum + this.tree.total[root],
      0,
    );
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
      // A node without time stands nowhere; it begins where its parent does.
      if (Number.isNaN(this.starts[next]))
        this.starts[next] = parent < 0 ? 0 : this.starts[parent];
    }
    return this.starts[node];
  }

  span(node: number): Span {
    if (node < 0) return { from: 0, to: this.width };
    const from = this.start(node);
    return { from, to: from + this.tree.total[node] };
  }
}

/** The rows of frames within a span, drawn so many pixels wide. */
export function layout(order: Order, span: Span, pixels: number): Row[] {
  const { tree } = order;
  const scale = pixels / Math.max(span.to - span.from, Number.MIN_VALUE);
  const rows: Row[] = [];
  // [node, its start]; a stack of our own, since stacks are deeper than the browser's may go.
  const work: [number, number, number][] = [[-1, 0, -1]];
  while (work.length) {
    const [node, start, depth] = work.pop()!;
    let at = start;
    const row = (rows[depth + 1] ??= { boxes: [], dust: [] });
    let narrow = -1;
    for (const child of order.children(node)) {
      const end = at + tree.total[child];
      if (end > span.from && at < span.to) {
        const left = Math.max(0, (at - span.from) * scale);
        const right = Math.min(pixels, (end - span.from) * scale);
        if (right - left >= NARROWEST) {
          row.boxes.push({ node: child, x: left, width: right - left });
          work.push([child, at, depth + 1]);
        } else if (narrow < 0) narrow = left;
      }
      at = end;
    }
    if (narrow >= 0) {
      const right = Math.min(pixels, (at - span.from) * scale);
      if (right - narrow >= NARROWEST)
        row.dust.push({ x: narrow, width: right - narrow });
    }
  }
  while (rows.length && !rows.at(-1)!.boxes.length && !rows.at(-1)!.dust.length)
    rows.pop();
  return rows;
}
