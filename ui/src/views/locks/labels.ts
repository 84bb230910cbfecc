/** What rows, kinds and aspects are called. */
import {
  UNKNOWN,
  type Aspect,
  type Recording,
  type Waits,
} from "../../data/recording";
import { count, duration, printable } from "../../elements/format";
import { stackFrames, stackLine, codeLocation } from "./callstack";
import type { Group } from "./groups";
import { RELEASED } from "./heldin";
import { isHeldIn } from "./parts";

export const KINDS: Record<string, string> = {
  gil: "the GIL",
  rlock: "reentrant locks",
  lock: "locks",
  semaphore: "semaphores",
  condition: "conditions",
  event: "events",
  barrier: "barriers",
  queue: "queues",
  join: "the end of threads (join)",
  future: "futures",
  import: "import locks",
  io: "buffer locks of files and streams",
  process: "locks shared between processes",
  object: "per-object locks",
  monitor: "monitors (synchronized)",
  rwlock: "read-write locks",
  park: "unpark",
  loop: "event loops",
};

export const TITLES: Record<Aspect, string> = {
  kind: "kind",
  lock: "lock",
  lock_class: "lock class",
  waiter_thread: "waiting thread",
  waiter_function: "waiting function",
  waiter_chain: "waiter's stack",
  owner_thread: "holder thread",
  owner_function: "releasing function",
  owner_chain: "release stack",
  held_in_function: "holder's function",
  held_in_chain: "holder's stack",
  waiter_task: "waiting task",
  owner_task: "running task",
};

export const MEANINGS: Record<Aspect, string> = {
  kind: "what was waited for: the GIL, a lock, a queue …",
  lock: "the lock, named by the source that acquires it",
  lock_class:
    "locks of one class together: the class and attribute that hold them",
  waiter_thread: "the thread that waited",
  waiter_function: "the function that waited",
  waiter_chain: "the call stack that waited",
  owner_thread: "the thread that held it",
  owner_function: "the function that released it",
  owner_chain: "the call stack that released it",
  held_in_function:
    "the function the holder was in while others waited, from its samples",
  held_in_chain:
    "the call stack of the holder while others waited, from its samples",
  waiter_task: "the task that was ready, and waited for its event loop",
  owner_task: "the task that the event loop ran meanwhile",
};

/** Questions and the order of aspects that answers them. */
export const QUESTIONS: readonly (readonly [string, readonly Aspect[]])[] = [
  ["Who blocks whom?", ["kind", "lock", "owner_chain", "waiter_chain"]],
  ["Which functions wait?", ["waiter_function", "owner_function", "lock"]],
  ["Which threads block others?", ["owner_thread", "lock", "waiter_thread"]],
  ["Is the GIL a bottleneck?", ["kind", "waiter_thread", "owner_chain"]],
  ["Where are locks acquired?", ["lock", "waiter_chain"]],
  ["What do holders do?", ["kind", "lock", "held_in_function"]],
  ["Which lock classes?", ["lock_class", "waiter_function"]],
  ["Which tasks block a loop?", ["kind", "owner_task", "waiter_task"]],
];

/** The sentence above the rows, as in the text report. */
export function summaryText(
  all: Group,
  undecided: number,
  loopNs: number,
): string {
  if (!all.wait_ns) {
    return "No thread waited for a lock, for the GIL or for another thread.";
  }
  const owned = all.wait_ns - all.signalling_ns - loopNs;
  const parts: string[] = [];
  if (owned) {
    const after = all.after_notification_ns;
    const notified = after
      ? ` (${duration(after)} of it after a notification)`
      : "";
    parts.push(`${duration(owned)} for locks held by other threads${notified}`);
  }
  if (all.signalling_ns) {
    parts.push(
      `${duration(all.signalling_ns)} for notifications (queues, events, joins)`,
    );
  }
  if (loopNs) parts.push(`${duration(loopNs)} for event loops`);
  let sentence = `${loopNs ? "Tasks and threads" : "Threads"} waited ${duration(all.wait_ns)} in ${count(all.count, "wait")}: `;
  sentence += `${sentenceList(parts)}.`;
  if (undecided) {
    sentence += ` ${count(undecided, "more wait")} cannot be counted: events were lost.`;
  }
  return sentence;
}

function sentenceList(parts: readonly string[]): string {
  return parts.length < 3
    ? parts.join(" and ")
    : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** Whether all of a row was for notifications. */
export function isNotification(group: Group): boolean {
  return group.wait_ns > 0 && group.signalling_ns === group.wait_ns;
}

export interface Label {
  /** The words before it: "held by", "notified by", "in". */
  verb: string;
  text: string;
}

export function label(
  recording: Recording,
  waits: Waits,
  aspect: Aspect,
  group: Group,
): Label {
  const owner = aspect.startsWith("owner");
  const verb = isHeldIn(aspect)
    ? group.value < 0
      ? ""
      : "holder in"
    : owner
      ? isNotification(group)
        ? "notified by"
        : "held by"
      : aspect === "waiter_thread" || aspect === "waiter_task"
        ? "by"
        : aspect.startsWith("waiter")
          ? "in"
          : "";
  return { verb, text: valueText(recording, waits, aspect, group) };
}

function valueText(
  recording: Recording,
  waits: Waits,
  aspect: Aspect,
  group: Group,
): string {
  const { value } = group;
  if (aspect === "kind") {
    const kind = recording.meta.kinds[value] ?? "";
    return KINDS[kind] ?? kind;
  }
  if (aspect === "lock") return printable(recording.locks[value]?.name ?? "");
  if (aspect === "lock_class")
    return printable(recording.locks[value]?.lock_class ?? "");
  if (isHeldIn(aspect) && value < 0) {
    if (value === RELEASED) return "released, waiter not yet running";
    return isNotification(group)
      ? "no holder"
      : "holder off CPU, or too few samples";
  }
  if (aspect.endsWith("_task"))
    return value < 0
      ? "no task, or not known"
      : printable(recording.meta.taskNames[value] || `task ${value}`);
  if (value < 0)
    return aspect.endsWith("_thread") || !waits.loops
      ? "an unknown thread"
      : "not known";
  if (aspect.endsWith("_thread"))
    return printable(recording.threads[value]!.label);
  if (aspect.endsWith("_function"))
    return codeLocation(recording.functions[value]!);
  if (aspect === "held_in_chain")
    return stackLine(stackFrames(recording, value, UNKNOWN));
  const site =
    aspect === "owner_chain" ? waits.ownerFunction : waits.waiterFunction;
  const frames = stackFrames(recording, value, site[group.rows[0]!]!);
  if (frames[0]?.name === "[no Python frames]" && isNotification(group))
    return "a thread's end";
  return stackLine(frames);
}
