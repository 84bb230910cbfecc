/** Functions to which waits are attributed; waits for a notification are attributed to none. */

import type { Recording, Waits } from "../../data/recording";

export interface Blocker {
  /** -1: unknown. */
  readonly fn: number;
  readonly ns: number;
  readonly waits: number;
}

export function blockers(waits: Waits): Blocker[] {
  const ns = new Map<number, number>();
  const counted = new Map<number, number>();
  const latest = new Map<number, number>();
  for (let i = 0; i < waits.wait.length; i++) {
    if (waits.notification[i]) continue;
    const fn = waits.ownerFunction[i];
    ns.set(fn, (ns.get(fn) ?? 0) + waits.ns[i]);
    // The parts of one wait are neighbours.
    if (latest.get(fn) === waits.wait[i]) continue;
    latest.set(fn, waits.wait[i]);
    counted.set(fn, (counted.get(fn) ?? 0) + 1);
  }
  return [...ns]
    .map(([fn, time]) => ({ fn, ns: time, waits: counted.get(fn)! }))
    .sort((a, b) => b.ns - a.ns || a.fn - b.fn);
}

export function blockerName(recording: Recording, fn: number): string {
  return fn < 0 ? "unknown" : recording.functions[fn].name;
}
