/** The tree of rows: what is open, what is chosen, and how it is drawn. */
import type { Aspect, Recording, Waits } from "../../data/recording";
import { fill, h } from "../../elements/dom";
import { Extent } from "../../elements/extent";
import { duration, percentOf, shorten, thousands } from "../../elements/format";
import { split, type Group } from "./groups";
import type { HolderProfile } from "./heldin";
import { isNotification, label, TITLES } from "./labels";
import { isHeldIn, type AspectColumns, type Parts } from "./parts";

/** A row of the tree; its children are computed when it is opened. */
export interface Row {
  group: Group;
  aspect: Aspect;
  depth: number;
  /** Values from the top to this row. */
  path: string;
  above: Row | null;
  children: Row[] | null;
  open: boolean;
  /** How many children are shown before the rest is asked for. */
  shown: number;
}

const SHOWN = 30;
/** Rows with a smaller share of the whole are folded at first. */
const SMALL = 0.005;
/** Rows open by themselves while they have this share of the whole, up to so many rows. */
const OPEN_SHARE = 0.1;
const OPEN_ROWS = 24;

export class RowTree {
  readonly top: Row[];

  constructor(
    readonly waits: Waits,
    readonly parts: Parts,
    readonly columns: AspectColumns,
    readonly by: readonly Aspect[],
    readonly all: Group,
    readonly holderProfile: HolderProfile | null = null,
  ) {
    this.top = this.split(parts.rows, 0, "", null);
    // The heaviest of all to its end, then what else is heavy.
    for (let row = this.top[0]; row; row = this.children(row)[0]) {
      row.open = this.children(row).length > 0;
    }
    let budget = OPEN_ROWS - this.top.length;
    for (let level = this.top; level.length && budget > 0;) {
      const next: Row[] = [];
      for (const row of level) {
        if (row.group.wait_ns < OPEN_SHARE * all.wait_ns || budget <= 0) break;
        const children = this.children(row);
        if (!children.length) continue;
        row.open = true;
        budget -= row.shown;
        next.push(...children);
      }
      level = next.sort((a, b) => b.group.wait_ns - a.group.wait_ns);
    }
  }

  children(row: Row): Row[] {
    if (!row.children) {
      const below = `${row.path}/`;
      row.children = this.split(row.group.rows, row.depth + 1, below, row);
      const least = SMALL * this.all.wait_ns;
      const large = row.children.filter((one) => one.group.wait_ns >= least);
      row.shown = Math.min(Math.max(large.length, 1), SHOWN);
    }
    return row.children;
  }

  /** The row of a path, with all above it open; null if it is not there (any more). */
  find(path: string): Row | null {
    let level = this.top;
    let found: Row | null = null;
    for (const value of path.split("/")) {
      if (found) {
        found.open = true;
        level = this.children(found);
      }
      found = level.find((row) => String(row.group.value) === value) ?? null;
      if (!found) return null;
      const place = level.indexOf(found);
      if (found.above)
        found.above.shown = Math.max(found.above.shown, place + 1);
    }
    return found;
  }

  /** The heaviest row of the last level that is open. */
  heaviest(): Row | null {
    let found: Row | null = this.top[0] ?? null;
    while (found?.open && found.children?.length) found = found.children[0]!;
    return found;
  }

  /** The visible rows, from the top. */
  visible(): Row[] {
    const found: Row[] = [];
    const walk = (rows: Row[], most: number) => {
      for (const row of rows.slice(0, most)) {
        found.push(row);
        if (row.open) walk(this.children(row), row.shown);
      }
    };
    walk(this.top, this.top.length);
    return found;
  }

  private split(
    rows: Int32Array,
    depth: number,
    prefix: string,
    above: Row | null,
  ): Row[] {
    const aspect = this.by[depth];
    if (!aspect) return [];
    const groups = isHeldIn(aspect)
      ? (this.holderProfile?.split(this.parts, rows, aspect) ?? [])
      : split(this.waits, this.parts, rows, this.columns.values(aspect));
    return groups.map((group) => ({
      group,
      aspect,
      depth,
      path: `${prefix}${group.value}`,
      above,
      children: null,
      open: false,
      shown: SHOWN,
    }));
  }
}

/** Pixels: of the columns of numbers with the opener and the verb, of a level, of a letter. */
const FIGURES = 360;
const INDENT = 18;
const LETTER = 6.4;

export interface Table {
  readonly element: HTMLElement;
  show(rows: RowTree, chosen: Row | null): void;
  /** Brings the chosen row into sight, if it is another than before. */
  reveal(): void;
  destroy(): void;
}

export function table(
  recording: Recording,
  choose: (row: Row) => void,
  point: (row: Row | null) => void,
): Table {
  let rows: RowTree | null = null;
  let chosen: Row | null = null;
  let revealed: string | undefined;
  let headed = "";
  const body = h("tbody");
  const head = h("tr");
  const element = h(
    "table",
    { class: "lock-rows", role: "treegrid", "aria-label": "Waiting" },
    h("thead", null, head),
    body,
  );
  const extent = new Extent(element, () => {
    if (Math.abs(extent.width - drawnFor) > LETTER) redraw();
  });
  let drawnFor = 0;

  function redraw(focus = false): void {
    if (!rows) return;
    drawnFor = extent.width;
    const last = rows.by.length - 1;
    const lines: HTMLElement[] = [];
    const walk = (level: Row[], most: number, depth: number) => {
      for (const row of level.slice(0, most)) {
        lines.push(drawn(row, row.depth < last));
        if (row.open) walk(rows!.children(row), row.shown, depth + 1);
      }
      if (level.length > most) lines.push(more(level, most, depth));
    };
    walk(rows.top, rows.top.length, 0);
    fill(body, lines);
    if (focus)
      body.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }

  function more(level: Row[], most: number, depth: number): HTMLElement {
    const above = level[0]!.above!;
    const rest = level
      .slice(most)
      .reduce((sum, row) => sum + row.group.wait_ns, 0);
    return h(
      "tr",
      { class: "more" },
      h("td", { class: "number" }, duration(rest)),
      h("td", { colspan: "3" }),
      h(
        "td",
        { style: { "padding-left": `${depth * INDENT + 22}px` } },
        h(
          "button",
          {
            class: "quiet",
            onclick: () => {
              above.shown = level.length;
              redraw();
            },
          },
          `${thousands(level.length - most)} more`,
        ),
      ),
    );
  }

  /** Letters that fit: names differ at their ends, which must not be what is cut off. */
  function room(depth: number): number {
    const width = (extent.width || 640) - FIGURES - depth * INDENT;
    return Math.max(Math.floor(width / LETTER), 28);
  }

  function drawn(row: Row, opens: boolean): HTMLElement {
    const { group } = row;
    const total = rows!.all.wait_ns;
    const rowLabel = label(recording, rows!.waits, row.aspect, group);
    const selected = row === chosen;
    const share = (ns: number) => `${total ? (100 * ns) / total : 0}%`;
    return h(
      "tr",
      {
        role: "row",
        tabindex: selected ? "0" : "-1",
        "aria-level": row.depth + 1,
        "aria-expanded": opens ? String(row.open) : undefined,
        "aria-selected": String(selected),
        "data-path": row.path,
        "data-ns": group.wait_ns,
        "data-count": group.count,
        "data-longest": group.max_ns,
        class: isNotification(group) ? "notification" : "",
        onclick: () => choose(row),
        ondblclick: () => toggle(row),
        onpointerenter: () => point(row),
        onpointerleave: () => point(null),
        onkeydown: (event: KeyboardEvent) => key(event, row, opens),
      },
      h(
        "td",
        { class: "number waited", title: `${group.wait_ns} ns` },
        h("span", {
          class: "bar held",
          style: { width: share(group.wait_ns - group.signalling_ns) },
        }),
        h("span", {
          class: "bar notified",
          style: {
            left: share(group.wait_ns - group.signalling_ns),
            width: share(group.signalling_ns),
          },
        }),
        h("span", { class: "over" }, duration(group.wait_ns)),
      ),
      h("td", { class: "number faint" }, percentOf(group.wait_ns, total)),
      h("td", { class: "number" }, thousands(group.count)),
      h(
        "td",
        { class: "number", title: `${group.max_ns} ns` },
        duration(group.max_ns),
      ),
      h(
        "td",
        {
          class: "what",
          style: { "padding-left": `${row.depth * INDENT + 4}px` },
        },
        opens
          ? h(
              "button",
              {
                class: "twist",
                tabindex: "-1",
                "aria-label": row.open ? "Close" : "Open",
                onclick: (event: Event) => {
                  event.stopPropagation();
                  toggle(row);
                },
              },
              row.open ? "▾" : "▸",
            )
          : h("span", { class: "twist" }),
        rowLabel.verb
          ? h("span", { class: "faint" }, `${rowLabel.verb} `)
          : null,
        h("span", { class: "text" }, shorten(rowLabel.text, room(row.depth))),
      ),
    );
  }

  function toggle(row: Row): void {
    row.open = !row.open && rows!.children(row).length > 0;
    // What is chosen stays in sight.
    for (let at = chosen?.above ?? null; at; at = at.above) {
      if (at === row && !row.open) choose(row);
    }
    redraw(true);
  }

  function key(event: KeyboardEvent, row: Row, opens: boolean): void {
    const visible = rows!.visible();
    const at = visible.indexOf(row);
    const go = (to: Row | null | undefined) => {
      if (!to) return;
      choose(to);
      redraw(true);
    };
    if (event.key === "ArrowDown") go(visible[at + 1]);
    else if (event.key === "ArrowUp") go(visible[at - 1]);
    else if (event.key === "Home") go(visible[0]);
    else if (event.key === "End") go(visible.at(-1));
    else if (event.key === "ArrowRight" && opens && !row.open) toggle(row);
    else if (event.key === "ArrowRight")
      go(row.open ? row.children?.[0] : null);
    else if (event.key === "ArrowLeft" && row.open) toggle(row);
    else if (event.key === "ArrowLeft") go(row.above);
    else if (event.key === "Enter" && opens) toggle(row);
    else return;
    event.preventDefault();
  }

  return {
    element,
    show(next, selected) {
      const names = next.by.map((aspect) => TITLES[aspect]);
      if (names.join(" / ") !== headed) {
        headed = names.join(" / ");
        fill(
          head,
          ["waited", "share", "waits", "longest"].map((name) =>
            h("th", { class: "number", scope: "col" }, name),
          ),
          h("th", { scope: "col" }, headed),
        );
      }
      const focused = body.contains(document.activeElement);
      rows = next;
      chosen = selected;
      redraw(focused);
    },
    reveal() {
      if (chosen?.path === revealed) return;
      revealed = chosen?.path;
      body
        .querySelector('[aria-selected="true"]')
        ?.scrollIntoView({ block: "nearest" });
    },
    destroy: () => extent.destroy(),
  };
}
