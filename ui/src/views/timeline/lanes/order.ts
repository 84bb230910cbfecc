/** The order of the lanes. */
import type { Recording } from "../../../data/recording";
import type { Lane } from "./lane";
import type { Times } from "./times";

export const ORDERS = {
  cpu: "CPU time",
  blocked: "waiting for locks and the GIL",
  waiting: "all off-CPU time",
  name: "name",
} as const;
export type Order = keyof typeof ORDERS;

export function orderOf(text: string | null): Order {
  return text !== null && text in ORDERS ? (text as Order) : "cpu";
}

/** What a lane is sorted by, in nanoseconds; in the order of names it is the CPU time. */
export function sortValue(times: Times, thread: number, order: Order): number {
  const { cpu, gil, locks, notifications, other, off } = times;
  if (order === "blocked") return gil[thread]! + locks[thread]!;
  if (order !== "waiting") return cpu[thread]!;
  return [gil, locks, notifications, other, off].reduce(
    (ns, column) => ns + column[thread]!,
    0,
  );
}

export function sortLanes(
  recording: Recording,
  lanes: readonly Lane[],
  times: Times | null,
  order: Order,
): Lane[] {
  const name = (lane: Lane) => recording.threads[lane.thread]!.label;
  const byName = (a: Lane, b: Lane) =>
    name(a).localeCompare(name(b), "en", { numeric: true }) ||
    a.thread - b.thread;
  if (order === "name" || !times) return [...lanes].sort(byName);
  const ns = (lane: Lane) => sortValue(times, lane.thread, order);
  return [...lanes].sort((a, b) => ns(b) - ns(a) || byName(a, b));
}
