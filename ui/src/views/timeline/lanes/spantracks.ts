/** Spans on the timeline: a lane below that of the thread which entered them. */
import type { Recording, Spans } from "../../../data/recording";
import type { Lane, SpanTrack } from "./lane";

/** Rows within a lane; of more than so many at a time the last lie over one another. */
const MAX_LEVELS = 5;

/** By thread, of those that have any in paths of the mask (null: all). */
export function spanTracks(
  recording: Recording,
  spans: Spans,
  mask: Uint8Array | null,
): Map<number, SpanTrack> {
  const { parent } = recording.spanPaths;
  const depth = new Int32Array(parent.length);
  for (let i = 0; i < parent.length; i++)
    depth[i] = parent[i]! < 0 ? 0 : depth[parent[i]!]! + 1;
  const found = new Map<number, SpanTrack>();
  for (let first = 0; first < spans.thread.length;) {
    const thread = spans.thread[first]!;
    const rows: number[] = [];
    for (; spans.thread[first] === thread; first++)
      if (!mask || mask[spans.path[first]!]) rows.push(first);
    if (rows.length)
      found.set(thread, track(spans, rows, depth, recording.meta.duration));
  }
  return found;
}

function track(
  spans: Spans,
  rows: readonly number[],
  depth: Int32Array,
  whole: number,
): SpanTrack {
  const size = rows.length;
  const made: SpanTrack = {
    start: new Float64Array(size),
    end: new Float64Array(size),
    path: new Int32Array(size),
    open: new Uint8Array(size),
    reach: new Float64Array(size),
    level: new Uint8Array(size),
    levels: 1,
  };
  const free = new Float64Array(MAX_LEVELS).fill(-Infinity);
  let reach = -Infinity;
  rows.forEach((row, i) => {
    const start = spans.start[row]!;
    const open = spans.length[row]! < 0;
    const end = open ? Math.max(whole, start) : start + spans.length[row]!;
    let level = Math.min(depth[spans.path[row]!]!, MAX_LEVELS - 1);
    while (level < MAX_LEVELS - 1 && free[level]! > start) level++;
    free[level] = Math.max(free[level]!, end);
    reach = Math.max(reach, end);
    made.start[i] = start;
    made.end[i] = end;
    made.path[i] = spans.path[row]!;
    made.open[i] = open ? 1 : 0;
    made.reach[i] = reach;
    made.level[i] = level;
    made.levels = Math.max(made.levels, level + 1);
  });
  return made;
}

/** The lanes with one more below each thread that has spans. */
export function withSpans(
  lanes: readonly Lane[],
  found: ReadonlyMap<number, SpanTrack>,
): Lane[] {
  return lanes.flatMap((lane) => {
    const spans = found.get(lane.thread);
    return spans ? [lane, spanLane(lane.thread, spans)] : [lane];
  });
}

const LANES = new WeakMap<SpanTrack, Lane>();

function spanLane(thread: number, spans: SpanTrack): Lane {
  let lane = LANES.get(spans);
  if (!lane) {
    const floats = new Float64Array(0);
    lane = {
      thread,
      start: floats,
      end: floats,
      state: new Uint8Array(0),
      row: new Int32Array(0),
      spans,
    };
    LANES.set(spans, lane);
  }
  return lane;
}
