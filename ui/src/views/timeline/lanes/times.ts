/** How long each thread was in which state. */
import {
  RUNNING,
  WAITING,
  type Recording,
  type Samples,
  type Waits,
} from "../../../data/recording";
import { inSpan } from "../../../profile/selection";
import { byThread, inOrder } from "./segments";

/** Nanoseconds by thread, as `sonde report threads` counts them. */
export interface Times {
  cpu: Float64Array;
  gil: Float64Array;
  locks: Float64Array;
  notifications: Float64Array;
  other: Float64Array;
  off: Float64Array;
}

/**
 * The drawn lanes do not have these: there, what overlaps is drawn once. An off-CPU sample counts
 * as far as no wait for a lock explains it. `spans` as for lanes.
 */
export function timesOf(
  tables: { recording: Recording; samples: Samples; waits: Waits },
  spans: Uint8Array | null = null,
): Times {
  const { recording, samples, waits } = tables;
  const { threads } = recording;
  const column = () => new Float64Array(threads.length);
  const times: Times = {
    cpu: column(),
    gil: column(),
    locks: column(),
    notifications: column(),
    other: column(),
    off: column(),
  };
  const gil = recording.meta.kinds.indexOf("gil");
  for (let row = 0; row < waits.ns.length; row++) {
    if (!inSpan(spans, waits.span, row)) continue;
    const kind = waits.kind[row] === gil ? times.gil : times.locks;
    const into = waits.notification[row] ? times.notifications : kind;
    into[waits.thread[row]!]! += waits.ns[row]!;
  }
  const lockWaits = byThread(waits.thread, threads.length).map((rows) =>
    inOrder(
      rows.filter((row) => inSpan(spans, waits.span, row)),
      waits.start,
    ),
  );
  for (let row = 0; row < samples.thread.length; row++) {
    if (!inSpan(spans, samples.span, row)) continue;
    const thread = samples.thread[row]!;
    const weight = samples.weight[row]!;
    if (samples.state[row] === RUNNING) {
      times.cpu[thread]! += weight;
      continue;
    }
    const end = samples.time[row]!;
    const known = coveredTime(waits, lockWaits[thread]!, end - weight, end);
    const into = samples.state[row] === WAITING ? times.other : times.off;
    into[thread]! += Math.max(weight - known, 0);
  }
  // The kernel's count where there is one; it does not know spans.
  threads.forEach(({ cpu }, row) => {
    if (cpu >= 0 && !spans) times.cpu[row] = cpu;
  });
  return times;
}

/** How much of a stretch of time the waits of a thread cover. */
function coveredTime(
  waits: Waits,
  rows: Int32Array,
  start: number,
  end: number,
): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (waits.end[rows[middle]!]! <= start) low = middle + 1;
    else high = middle;
  }
  let known = 0;
  for (; low < rows.length && waits.start[rows[low]!]! < end; low++) {
    const row = rows[low]!;
    const upto = Math.min(waits.end[row]!, end);
    known += Math.max(upto - Math.max(waits.start[row]!, start), 0);
  }
  return known;
}
