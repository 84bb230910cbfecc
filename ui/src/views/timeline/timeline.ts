/** A lane per thread: what each did when, and who kept whom waiting. */
import "./timeline.css";
import type { Recording, Samples, Spans, Waits } from "../../data/recording";
import { emptyWaits } from "../../data/waits";
import { fill, h, perFrame } from "../../elements/dom";
import { spanMask, threadMask } from "../../profile/selection";
import type { App, Mounted, View } from "../../shell/app";
import { waitWords, type Tables } from "./detail/detailpanel";
import { reading, spansTable } from "./detail/screenreader";
import { Picture } from "./drawing/lanecanvas";
import { AXIS, laneHeight, type Layout } from "./drawing/layout";
import { drawOver, scrolledTo, type Over } from "./drawing/overlay";
import { read, written, type Span } from "./drawing/window";
import { Steering, type Steered } from "./input/controller";
import type { Lane, SpanTrack } from "./lanes/lane";
import { ordered, orderOf, type Order } from "./lanes/order";
import { lanes } from "./lanes/segments";
import { tracks, withSpans } from "./lanes/spantracks";
import { timesOf } from "./lanes/times";
import { passed, waitOf } from "./lanes/wait";
import { below, type Below } from "./rangeflame";
import { bar } from "./toolbar";

export const timeline: View = {
  id: "timeline",
  title: "Timeline",
  key: "i",
  mount(root, app) {
    const recording = app.recordings[0]!;
    const { samples, contentions } = recording.meta.counts;
    if (!samples && !contentions) {
      fill(
        root,
        h(
          "p",
          { class: "empty" },
          "No threads were recorded. ",
          h("code", null, "sonde run --what +waits app.py"),
          " records thread states, waits and lock holders.",
        ),
      );
      return { update() {}, destroy() {} };
    }
    return new Timeline(root, app, recording);
  },
};

const REST = 150;

class Timeline implements Mounted, Steered {
  private readonly base = h("canvas", { class: "base" });
  private readonly over = h("canvas", {
    class: "over",
    tabindex: "0",
    role: "application",
    "aria-label":
      "Timeline. Arrow keys select a lane and pan, plus and minus zoom, 0 shows all, " +
      "n and p go to the next and previous wait of the lane, Escape clears the selection.",
  });
  private readonly spacer = h("div", { class: "spacer" });
  private readonly scroll = h(
    "div",
    { class: "lanes" },
    h("div", { class: "stuck" }, this.base, this.over),
    this.spacer,
  );
  private readonly tools = h("div", { class: "tools" });
  private readonly words = h("section", {
    class: "selected-wait",
    "aria-label": "The selected wait",
    "aria-live": "polite",
  });
  private readonly picture: Picture;
  readonly whole: number;
  tables: Tables | null = null;
  private lanes: Lane[] = [];
  private loadedRows: {
    samples: Samples;
    waits: Waits;
    spans: Spans | null;
  } | null = null;
  private tracks: ReadonlyMap<number, SpanTrack> = new Map();
  private spanOf: number | null | undefined = undefined;
  private readonly readers = h("div");
  private readonly under = h("div", { class: "under" });
  private flame: Below | null = null;
  private readersOf = "";
  readonly layout: Layout;
  private order: Order = "cpu";
  readonly state: Over = {
    range: null,
    wait: null,
    passed: [],
    pointer: null,
    cursor: -1,
  };
  private spanWritten: string | null = null;
  private writing = 0;
  private barOf = "";
  private gone = false;
  private readonly steering: Steering;
  readonly redraw = perFrame(() => this.draw());
  readonly redrawOver = perFrame(() => this.drawOver());
  private readonly watcher = new ResizeObserver(() => this.redraw());

  constructor(
    root: HTMLElement,
    readonly app: App,
    private readonly recording: Recording,
  ) {
    this.whole = Math.max(recording.meta.duration, 1);
    this.picture = new Picture(this.base, recording);
    const span = { from: 0, to: this.whole };
    this.layout = {
      width: 0,
      height: 0,
      scroll: 0,
      span,
      lanes: [],
      lane: 24,
    };
    fill(
      root,
      h(
        "div",
        { class: "timeline-view" },
        this.tools,
        this.scroll,
        this.words,
        this.under,
        this.readers,
      ),
    );
    this.scroll.addEventListener("scroll", () => this.redraw());
    this.watcher.observe(this.scroll);
    this.steering = new Steering(this, this.over);
    const none = !recording.meta.counts.contentions;
    void Promise.all([
      recording.samples(),
      none ? emptyWaits(0, 0) : recording.waits(),
      recording.meta.counts.spans ? recording.spans() : null,
    ]).then(([samples, waits, spans]) => {
      if (this.gone) return;
      this.loadedRows = { samples, waits, spans };
      this.update();
    });
  }

  /** The lanes of what lies in the chosen spans, or of everything. */
  private prepare(): void {
    const { recording, app } = this;
    if (!this.loadedRows || this.spanOf === app.state.span) return;
    this.spanOf = app.state.span;
    const { samples, waits, spans } = this.loadedRows;
    const mask = spanMask(recording, app.state);
    const gil = recording.meta.kinds.indexOf("gil");
    const threads = recording.threads.length;
    this.tracks = spans ? tracks(recording, spans, mask) : new Map();
    this.lanes = lanes(threads, samples, waits, gil, mask);
    const times = timesOf({ recording, samples, waits }, mask);
    this.tables = { recording, samples, waits, lanes: this.lanes, times };
    this.readersOf = "";
  }

  update(): void {
    const { app } = this;
    this.prepare();
    this.order = orderOf(app.own("timeline", "sort"));
    const { from, to } = app.state;
    this.state.range =
      from === null && to === null
        ? null
        : { from: from ?? 0, to: to ?? this.whole };
    // While the hand moves the address is behind.
    const text = app.own("timeline", "span");
    if (text !== this.spanWritten && !this.writing) {
      this.spanWritten = text;
      this.layout.span = read(text, this.whole);
    }
    const mask = threadMask(this.recording, app.state);
    const inside = (lane: Lane) =>
      app.state.span === null ||
      lane.start.length > 0 ||
      this.tracks.has(lane.thread);
    const shown = this.lanes.filter(
      (lane) => mask[lane.thread] && inside(lane),
    );
    const sorted = ordered(
      this.recording,
      shown,
      this.tables?.times ?? null,
      this.order,
    );
    this.layout.lanes = withSpans(sorted, this.tracks);
    this.beneath();
    this.selected();
    this.bar();
    this.forReaders();
    this.draw();
  }

  destroy(): void {
    this.gone = true;
    clearTimeout(this.writing);
    this.flame?.destroy();
    this.watcher.disconnect();
    this.redraw.cancel();
    this.redrawOver.cancel();
  }

  private selected(): void {
    const text = this.app.own("timeline", "wait");
    const number = text !== null && /^\d+$/.test(text) ? Number(text) : -1;
    if (!this.tables) return;
    if (this.state.wait?.number !== number) {
      const { waits, lanes } = this.tables;
      this.state.wait = number < 0 ? null : waitOf(waits, number);
      this.state.passed = (this.state.wait?.parts ?? []).flatMap((part) =>
        part.owner < 0 || this.state.wait?.signal
          ? []
          : passed(waits, lanes, part.owner, part.start, part.end),
      );
      const { wait } = this.state;
      const place = wait
        ? this.layout.lanes.findIndex((lane) => lane.thread === wait.thread)
        : -1;
      if (place >= 0) this.reveal(place);
    }
    const { wait } = this.state;
    const zoom = () => wait && this.steering.zoomTo(wait.start, wait.end);
    fill(
      this.words,
      wait ? waitWords(this.tables, wait, this.app, zoom) : null,
    );
    this.words.hidden = !wait;
  }

  /** The flame graph below the lanes, if it is asked for. */
  private beneath(): void {
    const wanted = this.app.own("timeline", "flame") === "below";
    if (wanted && !this.flame) {
      this.flame = below(this.app);
      fill(this.under, this.flame.element);
    } else if (!wanted && this.flame) {
      this.flame.destroy();
      this.flame = null;
      fill(this.under);
    }
    this.flame?.update();
  }

  private forReaders(): void {
    const of = this.layout.lanes.map((lane) => lane.thread).join();
    if (!this.tables || of === this.readersOf) return;
    this.readersOf = of;
    fill(
      this.readers,
      reading(this.recording, this.layout.lanes, this.tables.times),
      spansTable(this.recording),
    );
  }

  private bar(): void {
    const { app, layout } = this;
    const { from, to } = layout.span;
    const { range } = this.state;
    const all = from <= 0 && to >= this.whole;
    const flame = this.flame !== null;
    const barOf = JSON.stringify([
      all,
      range,
      this.order,
      app.theme.dark,
      flame,
    ]);
    if (barOf === this.barOf) return;
    this.barOf = barOf;
    const zoom = (factor: number) => this.steering.zoom(factor);
    const show = (span: Span) => this.steering.show(span);
    const whole = { from: 0, to: this.whole };
    fill(
      this.tools,
      ...bar(app, this.order, { all, range, flame, whole, zoom, show }),
    );
  }

  private draw(): void {
    if (this.gone || !this.tables) return;
    const { layout } = this;
    layout.width = this.scroll.clientWidth;
    layout.height = this.scroll.clientHeight;
    if (!layout.width || !layout.height) return;
    // The canvas stays in place and takes its own height; what is below it makes the scroll bar.
    layout.lane = laneHeight(layout.lanes.length, layout.height);
    const whole = AXIS + layout.lanes.length * layout.lane + 8;
    const below = Math.max(whole - layout.height, 0);
    this.spacer.style.height = `${below}px`;
    layout.scroll = Math.min(this.scroll.scrollTop, below);
    this.picture.draw(layout, this.app.theme, this.order, this.tables.times);
    this.drawOver();
  }

  private drawOver(): void {
    if (this.gone || !this.tables) return;
    drawOver(this.over, this.layout, this.app.theme, this.state);
  }

  /** Shows this window; the address follows when the hand rests. */
  show(span: Span): void {
    this.layout.span = span;
    const all = span.from <= 0 && span.to >= this.whole;
    this.spanWritten = all ? null : written(span);
    this.redraw();
    clearTimeout(this.writing);
    this.writing = window.setTimeout(() => {
      this.writing = 0;
      this.app.setOwn("timeline", "span", this.spanWritten);
    }, REST);
  }

  reveal(place: number): void {
    this.scroll.scrollTop = scrolledTo(this.layout, place);
  }
}
