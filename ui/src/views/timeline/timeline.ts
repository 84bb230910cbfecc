/** A lane per thread: what each did when, and who kept whom waiting. */
import "./timeline.css";
import type { Recording, Samples, Spans, Waits } from "../../data/recording";
import { emptyWaits } from "../../data/waits";
import { fill, h, perFrame } from "../../elements/dom";
import { spanMask, threadMask } from "../../profile/selection";
import type { App, MountedView, View } from "../../shell/app";
import { waitDetail, type Tables } from "./detail/detailpanel";
import { tasksTable, timesTable, spansTable } from "./detail/screenreader";
import { LaneCanvas } from "./drawing/lanecanvas";
import { AXIS, laneHeight, type Layout } from "./drawing/layout";
import {
  drawOverlay,
  scrollToLane,
  type OverlayState,
} from "./drawing/overlay";
import { parseWindow, formatWindow, type TimeWindow } from "./drawing/window";
import { TimelineController, type ControllerHost } from "./input/controller";
import type { Lane, SpanTrack } from "./lanes/lane";
import { sortLanes, orderOf, type Order } from "./lanes/order";
import { buildLanes } from "./lanes/segments";
import { spanTracks, withSpans } from "./lanes/spantracks";
import {
  loopLanes,
  SHOWN_TASKS,
  withTasks,
  type LoopLanes,
} from "./lanes/tasktracks";
import { timesOf } from "./lanes/times";
import { ownerWaits, waitOf } from "./lanes/wait";
import { rangeFlame, type RangeFlame } from "./rangeflame";
import { toolbar } from "./toolbar";

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

const URL_DELAY_MS = 150;

class Timeline implements MountedView, ControllerHost {
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
    h("div", { class: "pinned" }, this.base, this.over),
    this.spacer,
  );
  private readonly tools = h("div", { class: "tools" });
  private readonly words = h("section", {
    class: "selected-wait",
    "aria-label": "The selected wait",
    "aria-live": "polite",
  });
  private readonly laneCanvas: LaneCanvas;
  readonly whole: number;
  tables: Tables | null = null;
  private lanes: Lane[] = [];
  private loadedRows: {
    samples: Samples;
    waits: Waits;
    spans: Spans | null;
  } | null = null;
  private tracks: ReadonlyMap<number, SpanTrack> = new Map();
  private loops: ReadonlyMap<number, LoopLanes> = new Map();
  private preparedSpan: number | null | undefined = undefined;
  private readonly screenReader = h("div");
  private readonly under = h("div", { class: "under" });
  private flame: RangeFlame | null = null;
  private tablesOf = "";
  readonly layout: Layout;
  private order: Order = "cpu";
  readonly state: OverlayState = {
    range: null,
    wait: null,
    ownerWaits: [],
    pointer: null,
    cursor: -1,
  };
  private windowInAddress: string | null = null;
  private writing = 0;
  private barOf = "";
  private destroyed = false;
  private readonly controller: TimelineController;
  readonly redraw = perFrame(() => this.draw());
  readonly redrawOver = perFrame(() => this.drawOver());
  private readonly watcher = new ResizeObserver(() => this.redraw());

  constructor(
    root: HTMLElement,
    readonly app: App,
    private readonly recording: Recording,
  ) {
    this.whole = Math.max(recording.meta.duration, 1);
    this.laneCanvas = new LaneCanvas(this.base, recording);
    const timeWindow = { from: 0, to: this.whole };
    this.layout = {
      width: 0,
      height: 0,
      scroll: 0,
      timeWindow,
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
        this.screenReader,
      ),
    );
    this.scroll.addEventListener("scroll", () => this.redraw());
    this.watcher.observe(this.scroll);
    this.controller = new TimelineController(this, this.over);
    const none = !recording.meta.counts.contentions;
    void Promise.all([
      recording.samples(),
      none ? emptyWaits(0, 0) : recording.waits(),
      recording.meta.counts.spans ? recording.spans() : null,
      recording.meta.counts.tasks ? recording.tasks() : null,
    ]).then(([samples, waits, spans, tasks]) => {
      if (this.destroyed) return;
      if (tasks) this.loops = loopLanes(recording, tasks);
      this.loadedRows = { samples, waits, spans };
      this.update();
    });
  }

  /** The lanes of what lies in the chosen spans, or of everything. */
  private prepare(): void {
    const { recording, app } = this;
    if (!this.loadedRows || this.preparedSpan === app.state.span) return;
    this.preparedSpan = app.state.span;
    const { samples, waits, spans } = this.loadedRows;
    const mask = spanMask(recording, app.state);
    const gil = recording.meta.kinds.indexOf("gil");
    const threads = recording.threads.length;
    this.tracks = spans ? spanTracks(recording, spans, mask) : new Map();
    this.lanes = buildLanes(threads, samples, waits, gil, mask);
    const times = timesOf({ recording, samples, waits }, mask);
    this.tables = { recording, samples, waits, lanes: this.lanes, times };
    this.tablesOf = "";
  }

  update(): void {
    const { app } = this;
    this.prepare();
    this.order = orderOf(app.setting("timeline", "sort"));
    const { from, to } = app.state;
    this.state.range =
      from === null && to === null
        ? null
        : { from: from ?? 0, to: to ?? this.whole };
    // During a drag the address lags behind.
    const text = app.setting("timeline", "span");
    if (text !== this.windowInAddress && !this.writing) {
      this.windowInAddress = text;
      this.layout.timeWindow = parseWindow(text, this.whole);
    }
    const mask = threadMask(this.recording, app.state);
    const inside = (lane: Lane) =>
      app.state.span === null ||
      lane.start.length > 0 ||
      this.tracks.has(lane.thread);
    const shown = this.lanes.filter(
      (lane) => mask[lane.thread] && inside(lane),
    );
    const sorted = sortLanes(
      this.recording,
      shown,
      this.tables?.times ?? null,
      this.order,
    );
    const all = app.setting("timeline", "tasks") === "all";
    const lanes = withSpans(sorted, this.tracks);
    this.layout.lanes = withTasks(lanes, this.loops, all);
    this.updateFlame();
    this.updateWait();
    this.bar();
    this.updateTables();
    this.draw();
  }

  destroy(): void {
    this.destroyed = true;
    clearTimeout(this.writing);
    this.flame?.destroy();
    this.watcher.disconnect();
    this.redraw.cancel();
    this.redrawOver.cancel();
  }

  private updateWait(): void {
    const text = this.app.setting("timeline", "wait");
    const number = text !== null && /^\d+$/.test(text) ? Number(text) : -1;
    if (!this.tables) return;
    if (this.state.wait?.number !== number) {
      const { waits, lanes } = this.tables;
      this.state.wait = number < 0 ? null : waitOf(waits, number);
      this.state.ownerWaits = (this.state.wait?.parts ?? []).flatMap((part) =>
        part.owner < 0 || this.state.wait?.notification
          ? []
          : ownerWaits(waits, lanes, part.owner, part.start, part.end),
      );
      const { wait } = this.state;
      const place = wait
        ? this.layout.lanes.findIndex((lane) => lane.thread === wait.thread)
        : -1;
      if (place >= 0) this.reveal(place);
    }
    const { wait } = this.state;
    const zoom = () => wait && this.controller.zoomTo(wait.start, wait.end);
    fill(
      this.words,
      wait ? waitDetail(this.tables, wait, this.app, zoom) : null,
    );
    this.words.hidden = !wait;
  }

  /** The flame graph below the lanes, if it is asked for. */
  private updateFlame(): void {
    const wanted = this.app.setting("timeline", "flame") === "below";
    if (wanted && !this.flame) {
      this.flame = rangeFlame(this.app);
      fill(this.under, this.flame.element);
    } else if (!wanted && this.flame) {
      this.flame.destroy();
      this.flame = null;
      fill(this.under);
    }
    this.flame?.update();
  }

  private updateTables(): void {
    const of = this.layout.lanes.map((lane) => lane.thread).join();
    if (!this.tables || of === this.tablesOf) return;
    this.tablesOf = of;
    fill(
      this.screenReader,
      timesTable(this.recording, this.layout.lanes, this.tables.times),
      spansTable(this.recording),
      tasksTable(this.layout.lanes),
    );
  }

  private bar(): void {
    const { app, layout } = this;
    const { from, to } = layout.timeWindow;
    const { range } = this.state;
    const all = from <= 0 && to >= this.whole;
    const flame = this.flame !== null;
    const allTasks = this.app.setting("timeline", "tasks") === "all";
    const many = [...this.loops.values()].some(
      (loop) => loop.tasks.length > SHOWN_TASKS,
    );
    const tasks = many ? allTasks : null;
    const barOf = JSON.stringify([
      all,
      range,
      this.order,
      app.theme.dark,
      flame,
      tasks,
    ]);
    if (barOf === this.barOf) return;
    this.barOf = barOf;
    const zoom = (factor: number) => this.controller.zoom(factor);
    const show = (shown: TimeWindow) => this.controller.show(shown);
    const whole = { from: 0, to: this.whole };
    fill(
      this.tools,
      ...toolbar(app, this.order, {
        all,
        range,
        flame,
        whole,
        tasks,
        zoom,
        show,
      }),
    );
  }

  private draw(): void {
    if (this.destroyed || !this.tables) return;
    const { layout } = this;
    layout.width = this.scroll.clientWidth;
    layout.height = this.scroll.clientHeight;
    if (!layout.width || !layout.height) return;
    // The canvas stays in place and takes its own height; what is below it makes the scroll bar.
    layout.lane = laneHeight(layout.lanes.length, layout.height);
    const whole = AXIS + layout.lanes.length * layout.lane + 8;
    const beyond = Math.max(whole - layout.height, 0);
    this.spacer.style.height = `${beyond}px`;
    layout.scroll = Math.min(this.scroll.scrollTop, beyond);
    this.laneCanvas.draw(layout, this.app.theme, this.order, this.tables.times);
    this.drawOver();
  }

  private drawOver(): void {
    if (this.destroyed || !this.tables) return;
    drawOverlay(this.over, this.layout, this.app.theme, this.state);
  }

  /** Shows this window; the address follows after a pause. */
  show(shown: TimeWindow): void {
    this.layout.timeWindow = shown;
    const all = shown.from <= 0 && shown.to >= this.whole;
    this.windowInAddress = all ? null : formatWindow(shown);
    this.redraw();
    clearTimeout(this.writing);
    this.writing = window.setTimeout(() => {
      this.writing = 0;
      this.app.setSetting("timeline", "span", this.windowInAddress);
    }, URL_DELAY_MS);
  }

  reveal(place: number): void {
    this.scroll.scrollTop = scrollToLane(this.layout, place);
  }
}
