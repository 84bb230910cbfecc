/** Run-queue latency, throttling and steal time of each thread. */
import type { Recording } from "../../../data/recording";
import { duration } from "../../../elements/format";

export interface LossTimes {
  queue: number;
  quota: number;
  hypervisor: number;
}

const CAUSES: readonly (readonly [keyof LossTimes, string])[] = [
  ["queue", "run-queue latency"],
  ["quota", "CPU throttling"],
  ["hypervisor", "steal time"],
];

/** By row of the table of threads, in all. */
export function lossByThread(recording: Recording): LossTimes[] {
  const found = recording.threads.map(() => ({
    queue: 0,
    quota: 0,
    hypervisor: 0,
  }));
  for (const step of recording.cpuLoss) {
    const thread = found[step.thread];
    if (!thread) continue;
    for (const [cause] of CAUSES) thread[cause] += step[cause];
  }
  return found;
}

export function totalLoss({ queue, quota, hypervisor }: LossTimes): number {
  return queue + quota + hypervisor;
}

/** As "run-queue latency 1.2 s, CPU throttling 300 ms"; empty if there was none. */
export function lossText(lost: LossTimes): string {
  return CAUSES.filter(([cause]) => lost[cause] > 0)
    .map(([cause, name]) => `${name} ${duration(lost[cause])}`)
    .join(", ");
}
