/** A lane per thread: what each did when, and who kept whom waiting. */
import "./timeline.css";
import type { Recording, Samples, Waits } from "../../data/recording";
import { threadMask } from "../../profile/choice";
import type { App, Mounted, View } from "../../shell/app";
import { fill, h, perFrame } from "../../shell/dom";
import { bar } from "./bar";
import { below, type Below } from "./below";
import { listen } from "./hands";
import { act } from "./keys";
import {
  AXIS,
  laneHeight,
  placeAt,
  plotWidth,
  timeAt,
  type Layout,
} from "./layout";
import { ordered, orderOf, type Order } from "./order";
import { between, drawOver, scrolledTo, type Over } from "./overlay";
import { Picture } from "./picture";
import { isOfLock, lanes, segmentAt, type Lane } from "./segments";
import { panned, read, within, written, zoomed, type Span } from "./span";
import { reading, timesOf } from "./reading";
import { segmentWords, threadWords, waitWords, type Tables } from "./told";
import { nextWait, noWaits, passed, waitOf } from "./wait";

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
          "Nothing was recorded of any thread. ",
          h("code", null, "sonde run --what cpu,locks,waits app.py"),
          " records when threads run and when and for whom they wait.",
        ),
      );
      return { update() {}, destroy() {} };
    }
    return new Timeline(root, app, recording);
  },
};

const REST = 150;

class Timeline implements Mounted {
  private readonly base = h("canvas", { class: "base" });
  private readonly over = h("canvas", {
    class: "over",
    tabindex: "0",
    role: "application",
    "aria-label":
      "Timeline. Arrow keys choose a lane and pan, plus and minus zoom, 0 shows all, " +
      "n and p go to the next and previous wait of the lane, Escape lets go.",
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
  private readonly whole: number;
  private tables: Tables | null = null;
  private lanes: Lane[] = [];
  private readonly readers = h("div");
  private readonly under = h("div", { class: "under" });
  private flame: Below | null = null;
  private readersOf = "";
  private layout: Layout;
  private order: Order = "cpu";
  private readonly state: Over = {
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
  private readonly redraw = perFrame(() => this.draw());
  private readonly redrawOver = perFrame(() => this.drawOver());
  private readonly watcher = new ResizeObserver(() => this.redraw());

  constructor(
    root: HTMLElement,
    private readonly app: App,
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
    this.listen();
    const none = !recording.meta.counts.contentions;
    void Promise.all([
      recording.samples(),
      none ? noWaits() : recording.waits(),
    ]).then(([samples, waits]) => this.loaded(samples, waits));
  }

  private loaded(samples: Samples, waits: Waits): void {
    if (this.gone) return;
    const { recording } = this;
    const gil = recording.meta.kinds.indexOf("gil");
    const threads = recording.threads.length;
    this.lanes = lanes(threads, samples, waits, gil);
    const times = timesOf({ recording, samples, waits });
    this.tables = { recording, samples, waits, lanes: this.lanes, times };
    this.update();
  }

  update(): void {
    const { app } = this;
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
    const shown = this.lanes.filter((lane) => mask[lane.thread]);
    this.layout.lanes = ordered(
      this.recording,
      shown,
      this.tables?.times ?? null,
      this.order,
    );
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
    const zoom = () => wait && this.zoomTo(wait.start, wait.end);
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
    const zoom = (factor: number) => this.zoom(factor);
    const show = (span: Span) => this.show(within(span, this.whole));
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
  private show(span: Span): void {
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

  /** So close that a stretch of time fills half of the window. */
  private zoomTo(from: number, to: number): void {
    const room = Math.max((to - from) * 0.5, 5_000);
    this.show(within({ from: from - room, to: to + room }, this.whole));
  }

  private at(
    x: number,
    y: number,
  ): { lane: Lane; segment: number; place: number } | null {
    const place = placeAt(this.layout, y);
    const lane = this.layout.lanes[place];
    if (!lane) return null;
    // A pixel may stand for many segments: the one in its middle speaks for it.
    return {
      lane,
      place,
      segment: segmentAt(lane, timeAt(this.layout, x + 0.5)),
    };
  }

  private listen(): void {
    const length = () => this.layout.span.to - this.layout.span.from;
    const perPixel = () => length() / plotWidth(this.layout);
    listen(this.over, {
      zoom: (factor, x) =>
        this.show(
          zoomed(this.layout.span, factor, timeAt(this.layout, x), this.whole),
        ),
      pan: (pixels) => this.pan(pixels * perPixel()),
      brush: (a, b, done) => {
        const range = between(this.layout, a, b, this.whole);
        this.state.range = range;
        this.redrawOver();
        if (done) this.app.set(range, true);
      },
      click: (x, y) => this.choose(x, y),
      name: (y) => this.tell(placeAt(this.layout, y)),
      doubleClick: (x, y) => {
        const found = this.at(x, y);
        if (!found || found.segment < 0) return;
        const { start, end } = found.lane;
        this.zoomTo(start[found.segment]!, end[found.segment]!);
      },
      point: (x, y) => {
        this.state.pointer = { x, y };
        const found = this.tables && this.at(x, y);
        this.app.explain(
          found && found.segment >= 0
            ? segmentWords(this.tables!, found.lane, found.segment)
            : null,
        );
        this.redrawOver();
      },
      leave: () => {
        this.state.pointer = null;
        this.app.explain(null);
        this.redrawOver();
      },
      key: (event) =>
        act(event, {
          pan: (share) => this.pan(share * length()),
          zoom: (factor) => this.zoom(factor),
          all: () => this.show({ from: 0, to: this.whole }),
          lane: (by) => this.move(by),
          tell: () => this.tell(this.state.cursor),
          step: (by) => this.step(by),
          letGo: () => this.letGo(),
        }),
    });
  }

  /** What a lane is, in the bottom band, to stay there. */
  private tell(place: number): void {
    const lane = this.layout.lanes[place];
    if (!lane || !this.tables) return;
    this.state.cursor = place;
    this.app.explain(threadWords(this.tables, lane, this.app), true);
    this.redrawOver();
  }

  private choose(x: number, y: number): void {
    const found = this.at(x, y);
    this.state.cursor = -1;
    const ofLock =
      found && found.segment >= 0 && isOfLock(found.lane.state[found.segment]!);
    this.select(ofLock ? found.lane : null, found?.segment ?? -1);
  }

  private select(lane: Lane | null, segment: number): void {
    const { tables } = this;
    if (!tables) return;
    const row = lane ? lane.row[segment]! : -1;
    this.app.setOwn(
      "timeline",
      "wait",
      lane ? String(tables.waits.wait[row]!) : null,
    );
  }

  private zoom(factor: number): void {
    const { from, to } = this.layout.span;
    const middle = (from + to) / 2;
    this.show(zoomed(this.layout.span, factor, middle, this.whole));
  }

  private pan(ns: number): void {
    this.show(panned(this.layout.span, ns, this.whole));
  }

  /** To another lane, by keys. */
  private move(by: number): void {
    const { layout, state } = this;
    const last = layout.lanes.length - 1;
    state.cursor = Math.min(Math.max(state.cursor + by, 0), last);
    this.reveal(state.cursor);
    this.redraw();
  }

  private letGo(): boolean {
    if (this.state.wait) this.select(null, -1);
    else if (this.state.range) this.app.set({ from: null, to: null }, true);
    else return false;
    return true;
  }

  /** To the next wait of the lane under the cursor, or the one before. */
  private step(by: 1 | -1): void {
    const { layout, state } = this;
    if (state.cursor < 0) state.cursor = 0;
    const lane = layout.lanes[state.cursor];
    if (!lane) return;
    const now = state.wait?.thread === lane.thread ? state.wait : null;
    const i = nextWait(lane, now, by, layout.span.from);
    if (i < 0) return;
    const [from, to] = [lane.start[i]!, lane.end[i]!];
    const { span } = layout;
    if (from < span.from || to > span.to) {
      const length = Math.max(span.to - span.from, (to - from) * 1.5);
      const start = (from + to - length) / 2;
      this.show(within({ from: start, to: start + length }, this.whole));
    }
    this.select(lane, i);
  }

  private reveal(place: number): void {
    this.scroll.scrollTop = scrolledTo(this.layout, place);
  }
}
