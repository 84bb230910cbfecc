/** The map on the page: a click on a cell shows its tree, one on a second cell compares the two. */

import "./heatmap.css";
import { fill, h, perFrame, sizeCanvas } from "../elements/dom";
import { Extent } from "../elements/extent";
import { duration, displayName, percentOf, TIMES } from "../elements/format";
import type { ColourName } from "../elements/theme";
import type { App, Part } from "../shell/app";
import { length } from "./clock";
import { command } from "./command";
import type { StoreController } from "./controller";
import {
  boxOf,
  cellAt,
  zoomRange,
  columnAt,
  maxTime,
  placeAt,
  placeOf,
  rangeOf,
  ROW,
  strength,
  ticks,
  type Heat,
  type Place,
} from "./heatgrid";
import type { Cell } from "./selection";
import { cellTitle } from "./titles";

const NAMES = 150;
const TICK = 140;
const LETTERS = ["a", "b"] as const;

const COLOURS: Record<string, ColourName> = {
  running: "running",
  waiting: "io",
  wall: "accent",
};

export function heatMap(app: App, store: StoreController): Part {
  const tools = h("div", { class: "heat-tools" });
  const axis = h("div", { class: "heat-axis", "aria-hidden": "true" });
  const names = h("ul", { class: "heat-names" });
  const canvas = h("canvas", { "aria-hidden": "true" });
  const cells = h(
    "div",
    {
      class: "heat-cells",
      tabindex: "0",
      role: "group",
      "aria-label":
        "Map of the store's time. Arrow keys move between cells, Enter shows the flame graph of " +
        "a cell, and for a second cell the difference; Shift Enter shows one alone. " +
        "Plus zooms in, minus and 0 show all of the time, Escape clears the selection.",
    },
    canvas,
  );
  const room = h("div", { class: "heat-room" }, axis, names, cells);
  const element = h("section", { class: "heat", "aria-label": "Map" }, tools);
  element.append(room);
  let shown: Heat | null = null;
  let cursor: Place | null = null;
  let drag: { from: number; to: number; place: Place | null } | null = null;
  let width = 0;
  const draw = perFrame(() => paint());
  const extent = new Extent(room, draw);

  function paint(): void {
    const heat = store.heat;
    width = Math.max(0, extent.width - NAMES);
    if (!heat || !width) return;
    if (heat !== shown) replaceLabels(heat);
    label(heat);
    const context = sizeCanvas(
      canvas,
      width,
      Math.max(1, heat.rows.length * ROW),
    );
    context.clearRect(0, 0, width, heat.rows.length * ROW);
    const strongest = maxTime(heat);
    context.fillStyle = app.theme.colour(COLOURS[app.state.time]);
    heat.rows.forEach((row, i) =>
      row.cells.forEach((ns, column) => {
        if (!ns) return;
        const box = boxOf(heat, width, { row: i, column });
        context.globalAlpha = strength(ns, strongest);
        context.fillRect(box.x, box.y, Math.max(1, box.width - 1), ROW - 1);
      }),
    );
    context.globalAlpha = 1;
    for (const letter of LETTERS) {
      const at = store.selection[letter];
      const place = at && placeOf(heat, store.selection, at);
      if (place) outline(context, heat, place, letter.toUpperCase());
    }
    if (cursor && document.activeElement === cells)
      outline(context, heat, cursor, "");
    if (drag) shade(context, heat, drag.from, drag.to);
  }

  function outline(
    context: CanvasRenderingContext2D,
    heat: Heat,
    place: Place,
    letter: string,
  ): void {
    const { x, y, width: wide } = boxOf(heat, width, place);
    context.strokeStyle = app.theme.colour("text");
    context.lineWidth = 2;
    context.setLineDash(letter ? [] : [3, 2]);
    context.strokeRect(x, y + 1, Math.max(3, wide - 1), ROW - 3);
    context.setLineDash([]);
    if (!letter || wide < 9) return;
    context.fillStyle = app.theme.colour("text");
    context.font = `bold 11px ${app.theme.font}`;
    context.fillText(letter, x + wide / 2 - 4, y + 13);
  }

  function shade(
    context: CanvasRenderingContext2D,
    heat: Heat,
    one: number,
    other: number,
  ): void {
    const [first, last] = [Math.min(one, other), Math.max(one, other)];
    const left = boxOf(heat, width, { row: 0, column: first }).x;
    const end = boxOf(heat, width, { row: 0, column: last });
    context.fillStyle = app.theme.colour("accent");
    context.globalAlpha = 0.25;
    context.fillRect(left, 0, end.x + end.width - left, canvas.height);
    context.globalAlpha = 1;
  }

  /** Another map: names and times beside it. */
  function replaceLabels(heat: Heat): void {
    shown = heat;
    if (
      cursor &&
      (cursor.row >= heat.rows.length || cursor.column >= heat.columns)
    )
      cursor = null;
    fill(
      names,
      heat.rows.map(({ value }) => {
        const text =
          value === null ? `(no ${heat.by})` : displayName(value, 60);
        return h(
          "li",
          null,
          h(
            "button",
            {
              class: "quiet",
              tabindex: "-1",
              title: `Only ${heat.by} ${text}`,
              onclick: () => store.only(heat.by, value),
            },
            h("bdi", null, text),
          ),
        );
      }),
    );
    cells.dataset.columns = String(heat.columns);
    cells.dataset.rows = String(heat.rows.length);
  }

  function label(heat: Heat): void {
    fill(
      axis,
      ticks(heat, width, TICK).map(({ column, text }) =>
        h(
          "span",
          {
            style: {
              left: `${NAMES + Math.round((column * width) / heat.columns)}px`,
            },
          },
          text,
        ),
      ),
    );
  }

  /** What a cell is, for who points at it. */
  function cellDetail(heat: Heat, place: Place): HTMLElement {
    const at = cellAt(heat, store.selection, place);
    const ns = heat.rows[place.row].cells[place.column];
    const busy = ns / 1e6 / (at.to - at.from);
    return h(
      "div",
      { class: "cell-detail" },
      h(
        "p",
        { class: "detail" },
        h("bdi", { class: "name" }, cellTitle(at)),
        h(
          "span",
          { title: `${ns} ns` },
          `${duration(ns)} ${TIMES[app.state.time]}`,
        ),
        h("span", { class: "faint" }, `${busy.toFixed(2)} threads on average`),
      ),
      commandLine(app, store, at),
    );
  }

  const point = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const at = (event: PointerEvent) => {
    const { x, y } = point(event);
    return store.heat && placeAt(store.heat, width, x, y);
  };
  cells.addEventListener("pointerdown", (event) => {
    const { heat } = store;
    if (event.button !== 0 || !heat?.columns) return;
    cells.setPointerCapture(event.pointerId);
    const column = columnAt(heat, width, point(event).x);
    drag = { from: column, to: column, place: at(event) };
  });
  cells.addEventListener("pointermove", (event) => {
    const { heat } = store;
    if (!heat?.columns) return;
    if (drag) {
      drag.to = columnAt(heat, width, point(event).x);
      if (drag.to !== drag.from) drag.place = null;
      draw();
    }
    const place = at(event);
    app.explain(place && cellDetail(heat, place));
  });
  cells.addEventListener("pointerup", (event) => {
    const { heat } = store;
    const done = drag;
    drag = null;
    draw();
    if (!done || !heat) return;
    if (done.place) {
      cursor = done.place;
      store.pick(cellAt(heat, store.selection, done.place), event.shiftKey);
    } else if (done.to !== done.from)
      store.range(rangeOf(heat, store.selection, done.from, done.to));
  });
  cells.addEventListener("pointercancel", () => {
    drag = null;
    draw();
  });
  cells.addEventListener("pointerleave", () => app.explain(null));
  cells.addEventListener("focus", draw);
  cells.addEventListener("blur", draw);
  cells.addEventListener("keydown", (event) => {
    const { heat } = store;
    if (!heat?.rows.length) return;
    const origin = cursor ?? { row: 0, column: 0 };
    const move = (row: number, column: number) => {
      cursor = {
        row: Math.max(0, Math.min(heat.rows.length - 1, origin.row + row)),
        column: Math.max(0, Math.min(heat.columns - 1, origin.column + column)),
      };
      reveal(cursor.row);
      app.explain(cellDetail(heat, cursor), true);
      draw();
    };
    if (event.key === "ArrowUp") move(-1, 0);
    else if (event.key === "ArrowDown") move(1, 0);
    else if (event.key === "ArrowLeft") move(0, cursor ? -1 : 0);
    else if (event.key === "ArrowRight") move(0, cursor ? 1 : 0);
    else if (event.key === "Home") move(0, -heat.columns);
    else if (event.key === "End") move(0, heat.columns);
    else if (event.key === "Enter" || event.key === " ") {
      cursor = origin;
      store.pick(cellAt(heat, store.selection, origin), event.shiftKey);
    } else if (event.key === "+")
      store.range(zoomRange(heat, store.selection, origin.column));
    else if (event.key === "-" || event.key === "0")
      store.range({ from: null, to: null });
    else if (event.key === "Escape") store.clearCells();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** Scrolls as little as needed. */
  function reveal(row: number): void {
    const top = row * ROW;
    const visible = extent.height - ROW;
    if (top < extent.top) extent.scrollTo(top);
    else if (top + ROW > extent.top + visible)
      extent.scrollTo(top + ROW - visible);
  }

  let toolsOf = "";
  return {
    element,
    update() {
      const key = JSON.stringify([store.selection, app.state.time, store.busy]);
      if (key !== toolsOf || store.heat !== shown) {
        toolsOf = key;
        fill(tools, ...toolbar(app, store));
        room.setAttribute("aria-busy", String(store.busy));
      }
      draw();
    },
  };
}

function toolbar(app: App, store: StoreController): (HTMLElement | false)[] {
  const { selection, heat, meta } = store;
  const rows = h(
    "select",
    {
      "aria-label": "Rows of the map",
      onchange: () => store.by(rows.value),
    },
    meta.labels.map(({ label }) =>
      h("option", { value: label, selected: label === selection.by }, label),
    ),
  );
  const strongest = heat ? maxTime(heat) / 1e6 / heat.step : 0;
  const chips = LETTERS.map((letter) => {
    const at = selection[letter];
    return (
      at !== null &&
      h(
        "span",
        { class: "chip", "data-cell": letter },
        h("b", null, letter.toUpperCase()),
        h("bdi", null, cellTitle(at)),
        h(
          "button",
          {
            class: "quiet",
            "aria-label": `Without cell ${letter.toUpperCase()}`,
            onclick: () => store.pick(at),
          },
          "×",
        ),
      )
    );
  });
  return [
    h("label", null, h("span", { class: "faint" }, "rows: "), rows),
    heat !== null &&
      h(
        "span",
        { class: "faint" },
        heat.columns
          ? `a cell is ${length(heat.step)}`
          : "no recording has these labels",
      ),
    (selection.from !== null || selection.to !== null) &&
      h(
        "button",
        { onclick: () => store.range({ from: null, to: null }) },
        "all of the time",
      ),
    ...chips,
    !selection.a &&
      h(
        "span",
        { class: "faint" },
        "click a cell for its flame graph, a second one for the difference; drag to zoom in",
      ),
    h("span", { class: "gap" }),
    store.busy &&
      h("span", { class: "faint", role: "status" }, "querying the store …"),
    heat !== null &&
      heat.more.rows > 0 &&
      h(
        "span",
        { class: "faint" },
        `${heat.more.rows} more rows with ${percentOf(heat.more.ns, heat.more.ns + all(heat))} of the time are not shown`,
      ),
    strongest > 0 &&
      h(
        "span",
        { class: "heat-scale" },
        "0",
        h("i", {
          style: { "--swatch": `var(--${COLOURS[app.state.time]})` },
        }),
        `${strongest.toFixed(2)} threads ${TIMES[app.state.time]}`,
      ),
  ];
}

function all(heat: Heat): number {
  let found = 0;
  for (const row of heat.rows) for (const ns of row.cells) found += ns;
  return found;
}

/** The same in the terminal. */
function commandLine(app: App, store: StoreController, at: Cell): HTMLElement {
  const { address } = store.meta;
  const text = command(address, store.selection.where, at, at, app.state.time);
  return h("p", { class: "faint code" }, text ?? "");
}
