/** Run-queue latency, throttling and steal time of each thread: a strip below its lane. */
import type { Recording } from "../../../data/recording";
import { duration } from "../../../elements/format";

export interface Stolen {
  queue: number;
  quota: number;
  hypervisor: number;
}

const THIEVES: readonly (readonly [keyof Stolen, string])[] = [
  ["queue", "run-queue latency"],
  ["quota", "CPU throttling"],
  ["hypervisor", "steal time"],
];

/** By row of the table of threads, in all. */
export function stolen(recording: Recording): Stolen[] {
  const found = recording.threads.map(() => ({
    queue: 0,
    quota: 0,
    hypervisor: 0,
  }));
  for (const step of recording.taken) {
    const thread = found[step.thread];
    if (!thread) continue;
    for (const [thief] of THIEVES) thread[thief] += step[thief];
  }
  return found;
}

export function sum({ queue, quota, hypervisor }: Stolen): number {
  return queue + quota + hypervisor;
}

/** As "run-queue latency 1.2 s, CPU throttling 300 ms"; empty if there was none. */
export function words(lost: Stolen): string {
  return THIEVES.filter(([thief]) => lost[thief] > 0)
    .map(([thief, name]) => `${name} ${duration(lost[thief])}`)
    .join(", ");
}
