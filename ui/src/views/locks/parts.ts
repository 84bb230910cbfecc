/**
 * The waits that the filters leave, as columns of the aspects they can be split by.
 *
 * A row is a part of a wait that is attributed to one owner. Rows of one wait are together, so
 * counting waits is counting changes.
 */
import {
  ASPECTS,
  type Aspect,
  type Recording,
  type Waits,
} from "../../data/recording";
import { MOMENT } from "../../data/tasks";
import { inSpan } from "../../profile/selection";

export const DEFAULT_ASPECTS: readonly Aspect[] = [
  "kind",
  "lock",
  "owner_chain",
  "waiter_chain",
];

/** The order a text such as "lock,owner_chain" asks for; what is no aspect, or is there twice, is left out. */
export function aspectsOf(text: string | undefined | null): Aspect[] {
  const asked = (text ?? "")
    .split(",")
    .filter((part): part is Aspect =>
      (ASPECTS as readonly string[]).includes(part),
    );
  let once = [...new Set(asked)];
  // What a holder did is no property of a whole wait, so nothing can be split further by it.
  const held = once.findIndex(isHeldIn);
  if (held >= 0) once = once.slice(0, held + 1);
  return once.length ? once : [...DEFAULT_ASPECTS];
}

/** Whether it comes from samples, not from lock events. */
export function isHeldIn(aspect: Aspect): boolean {
  return aspect.startsWith("held_in");
}

/** What of all waits is looked at; `ns` is the time within the range, by row of the table. */
export interface Parts {
  rows: Int32Array;
  ns: Float64Array;
  from: number;
  to: number;
}

/**
 * The rows of the given threads (by row of the table: 1 or not) in a range of time, and in spans of
 * the given paths (null: anywhere).
 *
 * A wait counts as far as it is in the range. One without length is there if its moment is: a
 * wait without length is a wait all the same.
 */
export function select(
  waits: Waits,
  threads: Uint8Array,
  from: number | null,
  to: number | null,
  spans: Uint8Array | null = null,
): Parts {
  const size = waits.ns.length;
  const ns = new Float64Array(size);
  const rows = new Int32Array(size);
  const low = from ?? -Infinity;
  const high = to ?? Infinity;
  const blocks = blocksOf(waits);
  const whole = from === null && to === null && !threads.includes(0);
  let kept = 0;
  for (let block = 0; block < blocks.start.length; block++) {
    if (blocks.end[block]! <= low || blocks.start[block]! >= high) continue;
    const last = Math.min((block + 1) * BLOCK, size);
    for (let row = block * BLOCK; row < last; row++) {
      const thread = waits.thread[row]!;
      // What was only added up belongs to no thread and no moment.
      if (thread < 0 ? !whole : !threads[thread]) continue;
      if (!inSpan(spans, waits.span, row)) continue;
      const start = waits.start[row]!;
      const end = waits.end[row]!;
      if (end <= low || start >= high) continue;
      const inside = Math.min(end, high) - Math.max(start, low);
      // Of a wait for a loop only the moment of its end is known, and its time.
      ns[row] = end - start === MOMENT ? waits.ns[row]! : inside;
      rows[kept++] = row;
    }
  }
  return { rows: rows.slice(0, kept), ns, from: low, to: high };
}

/** Rows looked at together or not at all. */
const BLOCK = 512;

/** When the first row of each block begins, and when the last ends. */
interface Blocks {
  readonly start: Float64Array;
  readonly end: Float64Array;
}

const BLOCKS = new WeakMap<Waits, Blocks>();

/** Waits come nearly in the order of time, so a range leaves out most blocks as a whole. */
function blocksOf(waits: Waits): Blocks {
  let found = BLOCKS.get(waits);
  if (!found) {
    const count = Math.ceil(waits.ns.length / BLOCK);
    const start = new Float64Array(count).fill(Infinity);
    const end = new Float64Array(count).fill(-Infinity);
    for (let row = 0; row < waits.ns.length; row++) {
      const block = Math.floor(row / BLOCK);
      start[block] = Math.min(start[block]!, waits.start[row]!);
      end[block] = Math.max(end[block]!, waits.end[row]!);
    }
    BLOCKS.set(waits, (found = { start, end }));
  }
  return found;
}

/** The value of an aspect by row of the waits, as a number; -1 is unknown. */
export class AspectColumns {
  /** By thread row: the first row of its label; a thread that runs two interpreters has two. */
  private readonly threads: Int32Array;
  /** By lock: the first lock of its class. */
  private readonly classes: Int32Array;
  /** By task: the first one of its name, or -1 for what is no task. */
  private readonly tasks: Int32Array;
  private readonly kept = new Map<Aspect, Int32Array>();

  constructor(
    recording: Recording,
    readonly waits: Waits,
  ) {
    const ofClass = new Map<string, number>();
    this.classes = Int32Array.from(recording.locks, (lock, row) => {
      const known = ofClass.get(lock.lock_class);
      if (known === undefined) ofClass.set(lock.lock_class, row);
      return known ?? row;
    });
    const ofName = new Map<string, number>();
    this.tasks = Int32Array.from(recording.meta.taskNames, (name, row) => {
      const known = name ? ofName.get(name) : row;
      if (known === undefined) ofName.set(name, row);
      return known ?? row;
    });
    const first = new Map<string, number>();
    this.threads = Int32Array.from(recording.threads, (thread, row) => {
      const known = first.get(thread.label);
      if (known === undefined) first.set(thread.label, row);
      return known ?? row;
    });
  }

  values(aspect: Aspect): Int32Array {
    let column = this.kept.get(aspect);
    if (!column) this.kept.set(aspect, (column = this.makeColumn(aspect)));
    return column;
  }

  private makeColumn(aspect: Aspect): Int32Array {
    const { waits } = this;
    const named = (thread: Int32Array) =>
      thread.map((row) => (row < 0 ? -1 : this.threads[row]!));
    const ofTasks = (rows: Int32Array | undefined) => {
      const { loops } = waits;
      const column = new Int32Array(waits.ns.length).fill(-1);
      rows?.forEach((row, i) => {
        column[loops!.first + i] = row < 0 ? -1 : this.tasks[row]!;
      });
      return column;
    };
    switch (aspect) {
      case "kind":
        return Int32Array.from(waits.kind);
      case "lock":
        return waits.lock;
      case "lock_class":
        return waits.lock.map((lock) => this.classes[lock]!);
      case "waiter_thread":
        return named(waits.thread);
      case "waiter_function":
        return waits.waiterFunction;
      case "waiter_chain":
        return waits.waiter;
      case "owner_thread":
        return named(waits.ownerThread);
      case "owner_function":
        return waits.ownerFunction;
      case "owner_chain":
        return waits.owner;
      case "waiter_task":
        return ofTasks(waits.loops?.waiterTask);
      case "owner_task":
        return ofTasks(waits.loops?.ownerTask);
      case "held_in_function":
      case "held_in_chain":
        throw new Error(`${aspect} has no value for a whole part of a wait`);
    }
  }
}
