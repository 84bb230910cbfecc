/** By function: its time in both recordings, and the change. */
import { h } from "../../elements/dom";
import {
  duration,
  percent,
  sourceLocation,
  shorten,
} from "../../elements/format";
import { VirtualList } from "../../elements/virtuallist";
import type { App } from "../../shell/app";
import { formatSigned } from "./colour";
import { SHARE, type Scale } from "./shape";
import { rows, type Row, type Union } from "./union";

export interface SortedRow {
  row: Row;
  base: number;
  fresh: number;
  delta: number;
}

/** The rows in the unit and by the time that are compared, the greatest change first. */
export function sortRows(
  union: Union,
  scale: Scale,
  totals: boolean,
): SortedRow[] {
  return rows(union)
    .map((row) => {
      const base = scale.base(totals ? row.baseTotal : row.base);
      const fresh = scale.fresh(totals ? row.freshTotal : row.fresh);
      return { row, base, fresh, delta: fresh - base };
    })
    .filter(({ base, fresh }) => base > 0 || fresh > 0)
    .sort(
      (a, b) =>
        Math.abs(b.delta) - Math.abs(a.delta) ||
        b.fresh + b.base - (a.fresh + a.base) ||
        a.row.fn - b.row.fn,
    );
}

export class Table {
  private readonly head = h(
    "div",
    { class: "head", role: "row" },
    ["change", "base", "new"].map((name) =>
      h("span", { class: "number", role: "columnheader" }, name),
    ),
    h("span", { role: "columnheader" }, "function"),
    h("span", { role: "columnheader" }, "file"),
  );
  private readonly rows = new VirtualList(
    "table",
    "Functions by change",
    this.head,
  );
  readonly element = this.rows.element;

  constructor(private readonly app: App) {
    this.element.classList.add("diff-rows");
  }

  show(
    union: Union,
    found: SortedRow[],
    shares: boolean,
    flags: Uint8Array | null,
  ): void {
    const kept = flags ? found.filter(({ row }) => flags[row.fn]) : found;
    const most = Math.max(
      ...kept.slice(0, 1).map((one) => Math.abs(one.delta)),
      1e-9,
    );
    const timeText = (value: number) =>
      value ? (shares ? percent(value / SHARE, 2) : duration(value)) : "–";
    this.rows.show(kept.length, (i) => {
      const { row, base, fresh, delta } = kept[i]!;
      const fn = union.functions[row.fn]!;
      const kind = !base ? "fresh" : delta > 0 ? "slower" : "faster";
      return h(
        "div",
        {
          class: "row",
          role: "row",
          "data-base": row.base,
          "data-new": row.fresh,
          "data-delta": row.delta,
          title: `self ${row.base} ns → ${row.fresh} ns`,
          onpointerenter: () => this.app.explain(this.words(union, row)),
          onpointerleave: () => this.app.explain(null),
        },
        h(
          "span",
          { class: "number delta", role: "cell" },
          h("i", {
            class: kind,
            style: { width: `${(100 * Math.abs(delta)) / most}%` },
          }),
          h("span", null, formatSigned(delta, shares)),
        ),
        h("span", { class: "number", role: "cell" }, timeText(base)),
        h("span", { class: "number", role: "cell" }, timeText(fresh)),
        h(
          "span",
          { role: "cell" },
          h("bdi", { class: "name" }, shorten(fn.name, 100)),
          !base ? h("span", { class: "badge fresh" }, "new") : null,
          !fresh ? h("span", { class: "badge faster" }, "removed") : null,
        ),
        h(
          "span",
          { class: "faint", role: "cell" },
          sourceLocation(fn.file, fn.line, 60),
        ),
      );
    });
  }

  destroy(): void {
    this.rows.destroy();
  }

  private words(union: Union, row: Row): HTMLElement {
    const fn = union.functions[row.fn]!;
    const share = (ns: number, all: number) =>
      `${duration(ns)} (${percent(all ? ns / all : 0)})`;
    const { base, fresh } = union;
    return h(
      "div",
      null,
      h(
        "p",
        { class: "detail" },
        h("span", { class: "name" }, shorten(fn.name, 120)),
        h("span", { class: "faint" }, sourceLocation(fn.file, fn.line)),
      ),
      h(
        "p",
        null,
        `self ${share(row.base, base.all)} → ${share(row.fresh, fresh.all)}; ` +
          `total ${share(row.baseTotal, base.all)} → ${share(row.freshTotal, fresh.all)}`,
      ),
    );
  }
}
