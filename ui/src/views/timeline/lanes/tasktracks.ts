/** Tasks on the timeline: lanes below that of the thread which runs their loop, its lag above. */
import type { Loop, Recording } from "../../../data/recording";
import { TASK, type Tasks } from "../../../data/tasktables";
import { sumTasks } from "../../../profile/tasks";
import { OTHER, RUN, RUNNABLE, type Lane } from "./lane";

/** Tasks of a loop that have lanes unless all are asked for: those that waited longest. */
export const SHOWN_TASKS = 5;

/** The lanes of an event loop, by row of its thread. */
export interface LoopLanes {
  lag: Lane;
  /** The longest-waiting first. */
  tasks: Lane[];
}

export function loopLanes(
  recording: Recording,
  tasks: Tasks,
): Map<number, LoopLanes> {
  const found = new Map<number, LoopLanes>();
  for (const loop of recording.meta.loops)
    found.set(loop.thread, { lag: lagLane(loop), tasks: [] });
  const pieces = piecesByTask(tasks);
  const range = { from: null, to: null, processes: null };
  for (const row of sumTasks(recording, tasks, range)) {
    const mine = pieces.get(row.row);
    if (!mine || tasks.kind[row.row] !== TASK) continue;
    const lane = taskLane(mine);
    lane.task = {
      row: row.row,
      name: row.name,
      ready: row.ready,
      start: Math.max(row.created, 0),
      end: row.ended < 0 ? recording.meta.duration : row.ended,
    };
    found.get(mine.thread)?.tasks.push(lane);
  }
  return found;
}

/** The lanes of threads with those of their loops; `all`: of all tasks. */
export function withTasks(
  lanes: readonly Lane[],
  loops: ReadonlyMap<number, LoopLanes>,
  all: boolean,
): Lane[] {
  return lanes.flatMap((lane) => {
    const loop = lane.spans ? undefined : loops.get(lane.thread);
    if (!loop) return [lane];
    const shown = all ? loop.tasks : loop.tasks.slice(0, SHOWN_TASKS);
    const more = loop.tasks.length - shown.length;
    const folded: Lane[] = more > 0 ? [{ ...emptyLane(), folded: more }] : [];
    return [loop.lag, lane, ...shown, ...folded];
  });
}

interface Pieces {
  thread: number;
  /** Start, end, state. */
  parts: [number, number, number][];
}

function piecesByTask({ waits, steps }: Tasks): Map<number, Pieces> {
  const found = new Map<number, Pieces>();
  const add = (
    task: number,
    thread: number,
    ...parts: [number, number, number][]
  ) => {
    if (task < 0) return;
    const mine = found.get(task) ?? { thread, parts: [] };
    mine.parts.push(...parts);
    found.set(task, mine);
  };
  waits.task.forEach((task, i) => {
    const end = waits.time[i]!;
    const ready = end - waits.ready[i]!;
    add(
      task,
      waits.thread[i]!,
      [ready - waits.suspended[i]!, ready, OTHER],
      [ready, end, RUNNABLE],
    );
  });
  steps.task.forEach((task, i) => {
    const start = steps.time[i]!;
    const end = start + steps.duration[i]!;
    add(task, steps.thread[i]!, [start, end, RUN]);
  });
  return found;
}

function taskLane({ parts }: Pieces): Lane {
  parts.sort((a, b) => a[0] - b[0]);
  let done = -Infinity;
  const kept: [number, number, number][] = [];
  for (const [start, end, state] of parts) {
    const from = Math.max(start, done);
    if (end <= from) continue;
    kept.push([from, end, state]);
    done = end;
  }
  return {
    thread: -1,
    start: Float64Array.from(kept, ([start]) => start),
    end: Float64Array.from(kept, ([, end]) => end),
    state: Uint8Array.from(kept, ([, , state]) => state),
    row: new Int32Array(kept.length).fill(-1),
  };
}

function lagLane(loop: Loop): Lane {
  return { ...emptyLane(), lag: loop };
}

/** Of no thread, so that nothing looks for a thread's lane here. */
function emptyLane(): Lane {
  const floats = new Float64Array(0);
  return {
    thread: -1,
    start: floats,
    end: floats,
    state: new Uint8Array(0),
    row: new Int32Array(0),
  };
}
