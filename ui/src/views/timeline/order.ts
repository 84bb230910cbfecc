/** In which order lanes stand. */
import type { Recording } from "../../data/recording";
import { GIL, LOCK, RUN, STATES, type Lane } from "./segments";

export const ORDERS = {
  cpu: "CPU time",
  blocked: "waiting for locks and the GIL",
  waiting: "all waiting",
  name: "name",
} as const;
export type Order = keyof typeof ORDERS;

export function orderOf(text: string | null): Order {
  return text !== null && text in ORDERS ? (text as Order) : "cpu";
}

/** What a lane is sorted by, in nanoseconds; by name it still tells the CPU time. */
export function measure(
  recording: Recording,
  lane: Lane,
  order: Order,
): number {
  if (order === "blocked") return lane.spent[GIL]! + lane.spent[LOCK]!;
  if (order === "waiting") {
    let ns = 0;
    for (let state = RUN + 1; state < STATES; state++) ns += lane.spent[state]!;
    return ns;
  }
  const { cpu } = recording.threads[lane.thread]!;
  return cpu >= 0 ? cpu : lane.spent[RUN]!;
}

export function ordered(
  recording: Recording,
  lanes: readonly Lane[],
  order: Order,
): Lane[] {
  const name = (lane: Lane) => recording.threads[lane.thread]!.label;
  const byName = (a: Lane, b: Lane) =>
    name(a).localeCompare(name(b), "en", { numeric: true }) ||
    a.thread - b.thread;
  if (order === "name") return [...lanes].sort(byName);
  return [...lanes].sort(
    (a, b) =>
      measure(recording, b, order) - measure(recording, a, order) ||
      byName(a, b),
  );
}
