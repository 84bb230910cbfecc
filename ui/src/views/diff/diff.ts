/** Two recordings, or two ranges of one, over each other: what became slower, faster, new. */
import "./diff.css";
import { fill, h } from "../../elements/dom";
import {
  duration,
  percent,
  sourceLocation,
  shorten,
} from "../../elements/format";
import { search } from "../../profile/search";
import type { App, MountedView, View } from "../../shell/app";
import { withoutSettings } from "../../shell/links";
import { Icicle } from "../flame/icicle";
import { legend, look, formatSigned } from "./colour";
import { emptyDiff } from "./empty";
import { coverages, HOT, overlap } from "./measures";
import { asTree, scaleUnion, type Scale } from "./shape";
import { sides, type Side } from "./sides";
import { sortRows, Table } from "./table";
import { union, type Union } from "./union";

export const diff: View = {
  id: "diff",
  title: "Diff",
  key: "d",
  mount: (root, app) => new Diff(root, app),
};

const THRESHOLDS = [0.05, HOT, 0.2, 0.4, 0.6];

class Diff implements MountedView {
  private readonly tools = h("div", { class: "tools" });
  private readonly measures = h("p", { class: "measures", role: "status" });
  private readonly icicle: Icicle;
  private readonly table: Table;
  private readonly view: HTMLElement;
  private asked = 0;
  private key = "";
  private found: Union | null = null;
  private drawnKey = "";
  private tree: ReturnType<typeof asTree> | null = null;
  private scale: Scale | null = null;
  private readonly back = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || this.zoomed() < 0 || !this.tree) return;
    if ((event.target as HTMLElement).matches("input, .strip")) return;
    const above = this.tree.parent[this.zoomed()] ?? -1;
    this.app.setSetting("diff", "zoom", above < 0 ? null : String(above), true);
  };

  constructor(
    private readonly root: HTMLElement,
    private readonly app: App,
  ) {
    this.icicle = new Icicle(
      {
        point: (node) => app.explain(node === null ? null : this.words(node)),
        select: (node) => app.explain(this.words(node), true),
        zoom: (node) =>
          app.setSetting("diff", "zoom", node < 0 ? null : String(node), true),
        menu: () => {},
      },
      false,
      "Flame graph of both. Arrow keys move between frames, Enter zooms, Escape zooms out.",
    );
    this.table = new Table(app);
    this.view = h(
      "div",
      { class: "diff-view" },
      this.tools,
      this.measures,
      this.icicle.element,
      this.table.element,
    );
    fill(root, this.view);
    document.addEventListener("keydown", this.back);
  }

  destroy(): void {
    this.asked++;
    this.icicle.destroy();
    this.table.destroy();
    document.removeEventListener("keydown", this.back);
  }

  async update(): Promise<void> {
    const turn = ++this.asked;
    const { app } = this;
    const pair = sides(app.recordings, app.state);
    if (!pair) return fill(this.root, emptyDiff(app));
    if (!this.view.isConnected) fill(this.root, this.view);
    const key = JSON.stringify(
      pair.map(({ which, selection }) => [which, selection]),
    );
    if (key !== this.key) {
      const [base, fresh] = await Promise.all(
        pair.map(async ({ which, selection }) =>
          (await app.profiler(which)).profile(selection),
        ),
      );
      if (turn !== this.asked) return;
      this.key = key;
      this.found = union(base!, fresh!);
      this.drawnKey = "";
    }
    this.show(pair, this.found!);
  }

  private show(pair: [Side, Side], found: Union): void {
    const { app } = this;
    const shares = app.setting("diff", "by") === "share";
    const totals = app.setting("diff", "of") === "total";
    const flags = search(found.functions, app.state.search);
    if (this.drawnKey !== `${this.key} ${shares}`) {
      this.drawnKey = `${this.key} ${shares}`;
      this.scale = scaleUnion(found, shares);
      this.tree = asTree(found, this.scale);
    }
    fill(this.tools, ...this.toolbar(pair, found, shares, totals));
    this.showMeasures(found);
    const drawn = look(found, this.scale!, shares, app.theme, flags);
    this.icicle.show(this.tree!, drawn, app.theme, this.zoomed());
    const rows = sortRows(found, this.scale!, totals);
    this.table.show(found, rows, shares, flags);
  }

  private zoomed(): number {
    return Number(this.app.setting("diff", "zoom") ?? -1);
  }

  private toolbar(
    pair: [Side, Side],
    found: Union,
    shares: boolean,
    totals: boolean,
  ): (HTMLElement | null)[] {
    const { app } = this;
    const two = app.recordings.length > 1;
    const side = (name: string, at: Side, all: number) =>
      h(
        "span",
        null,
        h("span", { class: "faint" }, `${name} `),
        h("b", null, shorten(at.title, 44)),
        ` ${duration(all)}`,
      );
    const pick = (
      key: string,
      value: string | null,
      text: string,
      on: boolean,
    ) =>
      h(
        "button",
        {
          class: "segment",
          "aria-pressed": String(on),
          onclick: () => app.setSetting("diff", key, value),
        },
        text,
      );
    return [
      side("base", pair[0], found.base.all),
      h(
        "button",
        {
          title: "Swap base and new",
          "aria-label": "Swap base and new",
          onclick: () => this.swap(two),
        },
        "⇄",
      ),
      side("new", pair[1], found.fresh.all),
      two
        ? null
        : h(
            "button",
            {
              onclick: () =>
                app.set(
                  {
                    settings: withoutSettings(
                      app.state.settings,
                      "diff.base",
                      "diff.new",
                      "diff.zoom",
                    ),
                  },
                  true,
                ),
            },
            "select other ranges",
          ),
      h(
        "span",
        { class: "segments", role: "group", "aria-label": "Compare" },
        pick("by", null, "time", !shares),
        pick("by", "share", "share of all", shares),
      ),
      h(
        "span",
        { class: "segments", role: "group", "aria-label": "Of a function" },
        pick("of", null, "self", !totals),
        pick("of", "total", "with callees", totals),
      ),
      this.zoomed() >= 0
        ? h(
            "button",
            { onclick: () => app.setSetting("diff", "zoom", null, true) },
            "zoom out",
          )
        : null,
      h("span", { class: "gap" }),
      legend(app.theme),
    ];
  }

  private swap(two: boolean): void {
    const { app } = this;
    const settings = withoutSettings(app.state.settings, "diff.zoom") as Record<
      string,
      string
    >;
    if (two) {
      if (settings["diff.swap"] === "1") delete settings["diff.swap"];
      else settings["diff.swap"] = "1";
    } else {
      const base = settings["diff.base"]!;
      settings["diff.base"] = settings["diff.new"]!;
      settings["diff.new"] = base;
    }
    app.set({ settings }, true);
  }

  /** Overlap and coverage, with what they mean. */
  private showMeasures(found: Union): void {
    const { app } = this;
    const asked = Number(app.setting("diff", "hot"));
    const threshold = THRESHOLDS.includes(asked) ? asked : HOT;
    const alike = overlap(found.base.self, found.fresh.self);
    const cover = coverages(found.base.self, found.fresh.self, threshold);
    const figure = (value: number | null, id: string) =>
      h(
        "b",
        { "data-measure": id, "data-value": value ?? "" },
        value === null ? "–" : percent(value),
      );
    const choose = h(
      "select",
      {
        "aria-label": "Threshold of hot edges",
        onchange: () =>
          app.setSetting(
            "diff",
            "hot",
            Number(choose.value) === HOT ? null : choose.value,
          ),
      },
      THRESHOLDS.map((value) =>
        h(
          "option",
          { value, selected: value === threshold },
          percent(value, 0),
        ),
      ),
    );
    fill(
      this.measures,
      h(
        "span",
        {
          title:
            "Sum of the smaller share of time, over all call edges of both calling context trees; 100 % means equal profiles.",
        },
        "overlap ",
        figure(alike, "overlap"),
      ),
      h(
        "span",
        {
          title:
            "Share of the hot call edges of one tree that are also hot in the other. An edge is hot above this share of the hottest edge's time.",
        },
        "hot edges (from ",
        choose,
        " of the hottest): ",
        figure(cover.base_by_new, "base_by_new"),
        " of those in base are hot in new, ",
        figure(cover.new_by_base, "new_by_base"),
        " of those in new are hot in base",
      ),
    );
  }

  private words(node: number): HTMLElement {
    const { base, fresh, functions, fn } = this.found!;
    const { name, file, line } = functions[fn[node]!]!;
    const share = (ns: number, all: number) =>
      `${duration(ns)} (${percent(all ? ns / all : 0)})`;
    const delta = fresh.total[node]! - base.total[node]!;
    return h(
      "div",
      null,
      h(
        "p",
        { class: "detail" },
        h("span", { class: "name" }, shorten(name, 120)),
        h("span", { class: "faint" }, sourceLocation(file, line)),
        h("b", null, formatSigned(delta, false)),
      ),
      h(
        "p",
        { class: "faint" },
        `total time: ${share(base.total[node]!, base.all)} → ` +
          `${share(fresh.total[node]!, fresh.all)}; self time: ` +
          `${share(base.self[node]!, base.all)} → ${share(fresh.self[node]!, fresh.all)}`,
      ),
    );
  }
}
