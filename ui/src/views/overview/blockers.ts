/** Whose functions made others wait; waits for a signal blame nobody. */

import type { Recording, Waits } from "../../data/recording";

export interface Blocker {
  /** -1: nobody knows. */
  readonly fn: number;
  readonly ns: number;
  readonly waits: number;
}

export function blockers(waits: Waits): Blocker[] {
  const ns = new Map<number, number>();
  const counted = new Map<number, Set<number>>();
  for (let i = 0; i < waits.wait.length; i++) {
    if (waits.signalling[i]) continue;
    const fn = waits.ownerFunction[i];
    ns.set(fn, (ns.get(fn) ?? 0) + waits.ns[i]);
    let mine = counted.get(fn);
    if (!mine) counted.set(fn, (mine = new Set()));
    mine.add(waits.wait[i]);
  }
  return [...ns]
    .map(([fn, time]) => ({ fn, ns: time, waits: counted.get(fn)!.size }))
    .sort((a, b) => b.ns - a.ns || a.fn - b.fn);
}

export function blockerName(recording: Recording, fn: number): string {
  return fn < 0 ? "nobody known" : recording.functions[fn].name;
}
