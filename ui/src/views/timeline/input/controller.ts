/** What hands and keys do with the timeline: move its window, choose a lane, a wait, a range. */
import type { App } from "../../../shell/app";
import { segmentWords, threadWords, type Tables } from "../detail/detailpanel";
import { spansWords, spanWords } from "../detail/spanpanel";
import { placeAt, plotWidth, timeAt, type Layout } from "../drawing/layout";
import { between, type Over } from "../drawing/overlay";
import { spanAt } from "../drawing/spans";
import { panned, within, zoomed, type Span } from "../drawing/window";
import { isOfLock, segmentAt, type Lane } from "../lanes/lane";
import { nextWait } from "../lanes/wait";
import { act } from "./keys";
import { listen } from "./pointer";

/** What is steered. */
export interface Steered {
  readonly app: App;
  readonly layout: Layout;
  readonly state: Over;
  /** How long the recording is. */
  readonly whole: number;
  /** null: not loaded yet. */
  readonly tables: Tables | null;
  show(span: Span): void;
  /** Scrolls to the lane at this place. */
  reveal(place: number): void;
  redraw(): void;
  redrawOver(): void;
}

export class Steering {
  constructor(
    private readonly it: Steered,
    canvas: HTMLCanvasElement,
  ) {
    this.listen(canvas);
  }

  zoom(factor: number): void {
    const { span } = this.it.layout;
    this.zoomAround(factor, (span.from + span.to) / 2);
  }

  /** So close that a stretch of time fills half of the window. */
  zoomTo(from: number, to: number): void {
    const room = Math.max((to - from) * 0.5, 5_000);
    this.show({ from: from - room, to: to + room });
  }

  show(span: Span): void {
    this.it.show(within(span, this.it.whole));
  }

  private listen(canvas: HTMLCanvasElement): void {
    const { it } = this;
    const length = () => it.layout.span.to - it.layout.span.from;
    const perPixel = () => length() / plotWidth(it.layout);
    listen(canvas, {
      zoom: (factor, x) => this.zoomAround(factor, timeAt(it.layout, x)),
      pan: (pixels) => this.pan(pixels * perPixel()),
      brush: (a, b, done) => {
        const range = between(it.layout, a, b, it.whole);
        it.state.range = range;
        it.redrawOver();
        if (done) it.app.set(range, true);
      },
      click: (x, y) => this.choose(x, y),
      name: (y) => this.tell(placeAt(it.layout, y)),
      doubleClick: (x, y) => {
        const found = this.at(x, y);
        if (!found || found.segment < 0) return;
        const { start, end } = found.lane.spans ?? found.lane;
        this.zoomTo(start[found.segment]!, end[found.segment]!);
      },
      point: (x, y) => {
        it.state.pointer = { x, y };
        const found = it.tables && this.at(x, y);
        it.app.explain(
          found && found.segment >= 0
            ? this.words(it.tables!, found.lane, found.segment)
            : null,
        );
        it.redrawOver();
      },
      leave: () => {
        it.state.pointer = null;
        it.app.explain(null);
        it.redrawOver();
      },
      key: (event) =>
        act(event, {
          pan: (share) => this.pan(share * length()),
          zoom: (factor) => this.zoom(factor),
          all: () => it.show({ from: 0, to: it.whole }),
          lane: (by) => this.move(by),
          tell: () => this.tell(it.state.cursor),
          step: (by) => this.step(by),
          letGo: () => this.letGo(),
        }),
    });
  }

  /** What lies there: a segment of the lane, or a span where the lane shows spans. */
  private at(x: number, y: number): { lane: Lane; segment: number } | null {
    const { layout } = this.it;
    const place = placeAt(layout, y);
    const lane = layout.lanes[place];
    if (!lane) return null;
    // A pixel may stand for many segments: the one in its middle speaks for it.
    const time = timeAt(layout, x + 0.5);
    const segment = lane.spans
      ? spanAt(layout, place, time, y)
      : segmentAt(lane, time);
    return { lane, segment };
  }

  private words(tables: Tables, lane: Lane, segment: number): HTMLElement {
    return lane.spans
      ? spanWords(tables.recording, lane, segment)
      : segmentWords(tables, lane, segment);
  }

  /** What a lane is, in the bottom band, to stay there. */
  private tell(place: number): void {
    const { app, layout, state, tables } = this.it;
    const lane = layout.lanes[place];
    if (!lane || !tables) return;
    state.cursor = place;
    const words = lane.spans
      ? spansWords(tables.recording, lane, app)
      : threadWords(tables, lane, app);
    app.explain(words, true);
    this.it.redrawOver();
  }

  private choose(x: number, y: number): void {
    const found = this.at(x, y);
    if (found?.lane.spans) return this.tell(placeAt(this.it.layout, y));
    this.it.state.cursor = -1;
    const ofLock =
      found && found.segment >= 0 && isOfLock(found.lane.state[found.segment]!);
    this.select(ofLock ? found.lane : null, found?.segment ?? -1);
  }

  private select(lane: Lane | null, segment: number): void {
    const { app, tables } = this.it;
    if (!tables) return;
    const row = lane ? lane.row[segment]! : -1;
    const wait = lane ? String(tables.waits.wait[row]!) : null;
    app.setOwn("timeline", "wait", wait);
  }

  private zoomAround(factor: number, moment: number): void {
    const { layout, whole } = this.it;
    this.it.show(zoomed(layout.span, factor, moment, whole));
  }

  private pan(ns: number): void {
    this.it.show(panned(this.it.layout.span, ns, this.it.whole));
  }

  /** To another lane, by keys. */
  private move(by: number): void {
    const { layout, state } = this.it;
    const last = layout.lanes.length - 1;
    state.cursor = Math.min(Math.max(state.cursor + by, 0), last);
    this.it.reveal(state.cursor);
    this.it.redraw();
  }

  private letGo(): boolean {
    const { app, state } = this.it;
    if (state.wait) this.select(null, -1);
    else if (state.range) app.set({ from: null, to: null }, true);
    else return false;
    return true;
  }

  /** To the next wait of the lane under the cursor, or the one before. */
  private step(by: 1 | -1): void {
    const { layout, state } = this.it;
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
      this.show({ from: start, to: start + length });
    }
    this.select(lane, i);
  }
}
