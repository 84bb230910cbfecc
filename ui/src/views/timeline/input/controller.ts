/** What pointer and keys do on the timeline: move its window, select a lane, a wait, a range. */
import type { App } from "../../../shell/app";
import {
  segmentDetail,
  threadDetail,
  type Tables,
} from "../detail/detailpanel";
import { spanLaneDetail, spanDetail } from "../detail/spanpanel";
import {
  lagDetail,
  taskLaneDetail,
  taskSegmentDetail,
} from "../detail/taskpanel";
import { placeAt, plotWidth, timeAt, type Layout } from "../drawing/layout";
import { rangeBetween, type OverlayState } from "../drawing/overlay";
import { spanAt } from "../drawing/spans";
import {
  panWindow,
  clampWindow,
  zoomWindow,
  type TimeWindow,
} from "../drawing/window";
import { isLockState, isThreadLane, segmentAt, type Lane } from "../lanes/lane";
import { nextWait } from "../lanes/wait";
import { handleKey } from "./keys";
import { listenToPointer } from "./pointer";

/** The timeline, as its controller needs it. */
export interface ControllerHost {
  readonly app: App;
  readonly layout: Layout;
  readonly state: OverlayState;
  /** How long the recording is. */
  readonly whole: number;
  /** null: not loaded yet. */
  readonly tables: Tables | null;
  show(span: TimeWindow): void;
  /** Scrolls to the lane at this place. */
  reveal(place: number): void;
  redraw(): void;
  redrawOver(): void;
}

export class TimelineController {
  constructor(
    private readonly host: ControllerHost,
    canvas: HTMLCanvasElement,
  ) {
    this.listen(canvas);
  }

  zoom(factor: number): void {
    const { timeWindow } = this.host.layout;
    this.zoomAround(factor, (timeWindow.from + timeWindow.to) / 2);
  }

  /** So close that a stretch of time fills half of the window. */
  zoomTo(from: number, to: number): void {
    const room = Math.max((to - from) * 0.5, 5_000);
    this.show({ from: from - room, to: to + room });
  }

  show(span: TimeWindow): void {
    this.host.show(clampWindow(span, this.host.whole));
  }

  private listen(canvas: HTMLCanvasElement): void {
    const { host } = this;
    const length = () =>
      host.layout.timeWindow.to - host.layout.timeWindow.from;
    const perPixel = () => length() / plotWidth(host.layout);
    listenToPointer(canvas, {
      zoom: (factor, x) => this.zoomAround(factor, timeAt(host.layout, x)),
      pan: (pixels) => this.pan(pixels * perPixel()),
      brush: (a, b, done) => {
        const range = rangeBetween(host.layout, a, b, host.whole);
        host.state.range = range;
        host.redrawOver();
        if (done) host.app.set(range, true);
      },
      click: (x, y) => this.choose(x, y),
      name: (y) => this.showDetail(placeAt(host.layout, y)),
      doubleClick: (x, y) => {
        const found = this.at(x, y);
        if (!found || found.segment < 0) return;
        const { start, end } = found.lane.spans ?? found.lane;
        this.zoomTo(start[found.segment]!, end[found.segment]!);
      },
      point: (x, y) => {
        host.state.pointer = { x, y };
        const found = host.tables && this.at(x, y);
        host.app.explain(
          found && found.segment >= 0
            ? this.words(host.tables!, found.lane, found.segment)
            : null,
        );
        host.redrawOver();
      },
      leave: () => {
        host.state.pointer = null;
        host.app.explain(null);
        host.redrawOver();
      },
      key: (event) =>
        handleKey(event, {
          pan: (share) => this.pan(share * length()),
          zoom: (factor) => this.zoom(factor),
          all: () => host.show({ from: 0, to: host.whole }),
          lane: (by) => this.move(by),
          showDetail: () => this.showDetail(host.state.cursor),
          step: (by) => this.step(by),
          clearSelection: () => this.clearSelection(),
        }),
    });
  }

  /** What is at a point: a segment of the lane, or a span where the lane shows spans. */
  private at(x: number, y: number): { lane: Lane; segment: number } | null {
    const { layout } = this.host;
    const place = placeAt(layout, y);
    const lane = layout.lanes[place];
    if (!lane) return null;
    // A pixel may cover many segments: the one in its middle is taken.
    const time = timeAt(layout, x + 0.5);
    const segment = lane.spans
      ? spanAt(layout, place, time, y)
      : segmentAt(lane, time);
    return { lane, segment };
  }

  private words(tables: Tables, lane: Lane, segment: number): HTMLElement {
    if (lane.task) return taskSegmentDetail(lane, segment);
    return lane.spans
      ? spanDetail(tables.recording, lane, segment)
      : segmentDetail(tables, lane, segment);
  }

  /** What a lane is, in the bottom band, to stay there. */
  private showDetail(place: number): void {
    const { app, layout, state, tables } = this.host;
    const lane = layout.lanes[place];
    if (!lane || !tables) return;
    state.cursor = place;
    if (lane.folded) return app.setSetting("timeline", "tasks", "all");
    app.explain(this.laneWords(tables, lane), true);
    this.host.redrawOver();
  }

  private laneWords(tables: Tables, lane: Lane): HTMLElement {
    const { app } = this.host;
    if (lane.task) return taskLaneDetail(lane, app);
    if (lane.lag) return lagDetail(tables.recording, lane);
    return lane.spans
      ? spanLaneDetail(tables.recording, lane, app)
      : threadDetail(tables, lane, app);
  }

  private choose(x: number, y: number): void {
    const found = this.at(x, y);
    if (found && !isThreadLane(found.lane))
      return this.showDetail(placeAt(this.host.layout, y));
    this.host.state.cursor = -1;
    const ofLock =
      found &&
      found.segment >= 0 &&
      isLockState(found.lane.state[found.segment]!);
    this.select(ofLock ? found.lane : null, found?.segment ?? -1);
  }

  private select(lane: Lane | null, segment: number): void {
    const { app, tables } = this.host;
    if (!tables) return;
    const row = lane ? lane.row[segment]! : -1;
    const wait = lane ? String(tables.waits.wait[row]!) : null;
    app.setSetting("timeline", "wait", wait);
  }

  private zoomAround(factor: number, moment: number): void {
    const { layout, whole } = this.host;
    this.host.show(zoomWindow(layout.timeWindow, factor, moment, whole));
  }

  private pan(ns: number): void {
    this.host.show(panWindow(this.host.layout.timeWindow, ns, this.host.whole));
  }

  /** To another lane, by keys. */
  private move(by: number): void {
    const { layout, state } = this.host;
    const last = layout.lanes.length - 1;
    state.cursor = Math.min(Math.max(state.cursor + by, 0), last);
    this.host.reveal(state.cursor);
    this.host.redraw();
  }

  private clearSelection(): boolean {
    const { app, state } = this.host;
    if (state.wait) this.select(null, -1);
    else if (state.range) app.set({ from: null, to: null }, true);
    else return false;
    return true;
  }

  /** To the next wait of the lane under the cursor, or the one before. */
  private step(by: 1 | -1): void {
    const { layout, state } = this.host;
    if (state.cursor < 0) state.cursor = 0;
    const lane = layout.lanes[state.cursor];
    if (!lane) return;
    const now = state.wait?.thread === lane.thread ? state.wait : null;
    const i = nextWait(lane, now, by, layout.timeWindow.from);
    if (i < 0) return;
    const [from, to] = [lane.start[i]!, lane.end[i]!];
    const { timeWindow } = layout;
    if (from < timeWindow.from || to > timeWindow.to) {
      const length = Math.max(
        timeWindow.to - timeWindow.from,
        (to - from) * 1.5,
      );
      const start = (from + to - length) / 2;
      this.show({ from: start, to: start + length });
    }
    this.select(lane, i);
  }
}
