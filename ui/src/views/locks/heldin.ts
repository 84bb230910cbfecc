/**
 * What holders did while others waited: what src/sonde/views/locks/held_in.py does for the reports.
 *
 * Off-CPU time is exact; the rest of a group of holds is divided in proportion to the CPU samples
 * that fall into it.
 */
import {
  AFTER_RELEASE,
  OWNER_RELEASED,
  UNKNOWN,
  RUNNING,
  type Aspect,
  type Recording,
  type Samples,
  type Waits,
} from "../../data/recording";
import type { Group } from "./groups";
import type { Parts } from "./parts";

/** In place of a context: the lock was free, the waiter had yet to wake up. */
export const RELEASED = -2;
/** Fewer CPU samples than this are too few for a group of holds. */
export const MIN_SAMPLES = 10;
const BUILT_IN = "<built-in>";

/** Sums of one value; `open`: part of the time may be off-CPU without having been recorded. */
interface Sum {
  known: number;
  sampled: number;
  sampledOpen: number;
  notification: number;
  samples: Set<number>;
  rows: number[];
}

export class HolderProfile {
  /** By thread: where its samples begin; one more for the end. */
  private readonly first: Int32Array;
  private readonly offCpuKnown: Uint8Array;
  /** By thread without recorded waits: rows of its waits for locks, by time. */
  private readonly contended = new Map<number, number[]>();
  /** By context: the innermost function with source lines. */
  private readonly innermost: Int32Array;
  private readonly gil: number;

  constructor(
    recording: Recording,
    private readonly samples: Samples,
    private readonly waits: Waits,
  ) {
    const threads = recording.threads.length;
    this.first = new Int32Array(threads + 1).fill(samples.thread.length);
    this.offCpuKnown = new Uint8Array(threads);
    for (let i = samples.thread.length - 1; i >= 0; i--) {
      const thread = samples.thread[i]!;
      this.first[thread] = i;
      if (samples.state[i] !== RUNNING) this.offCpuKnown[thread] = 1;
    }
    for (let thread = threads - 1; thread >= 0; thread--) {
      const next = this.first[thread + 1]!;
      if (
        this.first[thread]! > next ||
        samples.thread[this.first[thread]!] !== thread
      )
        this.first[thread] = next;
    }
    for (let row = 0; row < waits.thread.length; row++) {
      const thread = waits.thread[row]!;
      if (this.waits.loops && row >= this.waits.loops.first) break;
      if (this.offCpuKnown[thread]) continue;
      const mine = this.contended.get(thread);
      if (mine) mine.push(row);
      else this.contended.set(thread, [row]);
    }
    for (const rows of this.contended.values())
      rows.sort((a, b) => waits.start[a]! - waits.start[b]!);
    const { parent, fn } = recording.contexts;
    this.innermost = new Int32Array(parent.length);
    for (let context = 0; context < parent.length; context++) {
      const up = parent[context]!;
      const builtIn = recording.functions[fn[context]!]?.file === BUILT_IN;
      this.innermost[context] =
        builtIn && up >= 0 ? this.innermost[up]! : fn[context]!;
    }
    this.gil = recording.meta.kinds.indexOf("gil");
  }

  /** The groups of the given rows, most waiting first; they add up to the rows' time. */
  split(parts: Parts, rows: Int32Array, aspect: Aspect): Group[] {
    const sums = new Map<number, Sum>();
    const of = (context: number): Sum => {
      const value =
        context < 0 || aspect === "held_in_chain"
          ? context
          : this.innermost[context]!;
      let found = sums.get(value);
      if (!found) {
        found = {
          known: 0,
          sampled: 0,
          sampledOpen: 0,
          notification: 0,
          samples: new Set(),
          rows: [],
        };
        sums.set(value, found);
      }
      return found;
    };
    const touch = (sum: Sum, row: number) => {
      if (sum.rows.at(-1) !== row) sum.rows.push(row);
    };
    let rest = 0;
    let restOpen = 0;
    const unknownRows: number[] = [];
    const seen = new Set<number>();
    const seenOpen = new Set<number>();
    for (const row of rows) {
      const ns = parts.ns[row]!;
      const isNotified = this.waits.notification[row] === 1;
      const { loops } = this.waits;
      if (loops && row >= loops.first) {
        // The part is one of what the samples of the step show.
        const sum = of(this.waits.owner[row]!);
        sum.known += ns;
        touch(sum, row);
        continue;
      }
      const owner = this.waits.ownerThread[row]!;
      const handed = this.waits.part[row]! & OWNER_RELEASED;
      if (isNotified || owner < 0 || handed || ns <= 0) {
        const sum = of(handed ? RELEASED : UNKNOWN);
        sum.known += ns;
        if (isNotified) sum.notification += ns;
        touch(sum, row);
        continue;
      }
      const start = Math.max(this.waits.start[row]!, parts.from);
      const end = Math.min(this.waits.end[row]!, parts.to);
      const open =
        !this.offCpuKnown[owner] && this.waits.kind[row] !== this.gil;
      const late = (this.waits.part[row]! & AFTER_RELEASE) !== 0;
      let off = 0;
      const wait = (context: number, from: number, to: number) => {
        const overlap = Math.min(to, end) - Math.max(from, start);
        if (overlap <= 0) return;
        off += overlap;
        // Who is off CPU when another thread releases the lock acquires it only afterwards.
        const sum = of(late && from <= start ? RELEASED : context);
        sum.known += overlap;
        touch(sum, row);
      };
      this.visit(owner, start, end, wait, (context, weight, sample) => {
        const sum = of(context);
        if (open) sum.sampledOpen += weight;
        else sum.sampled += weight;
        sum.samples.add(sample);
        (open ? seenOpen : seen).add(sample);
        touch(sum, row);
      });
      if (open) restOpen += ns - off;
      else rest += ns - off;
      unknownRows.push(row);
    }
    let sampled = 0;
    let sampledOpen = 0;
    for (const sum of sums.values()) {
      sampled += sum.sampled;
      sampledOpen += sum.sampledOpen;
    }
    const scale = seen.size >= MIN_SAMPLES && sampled ? rest / sampled : 0;
    const scaleOpen =
      seenOpen.size >= MIN_SAMPLES && sampledOpen
        ? Math.min(restOpen / sampledOpen, 1)
        : 0;
    const left = rest - scale * sampled + (restOpen - scaleOpen * sampledOpen);
    if (left > 0.5) {
      const sum = of(UNKNOWN);
      sum.known += left;
      sum.rows = [...new Set([...sum.rows, ...unknownRows])].sort(
        (a, b) => a - b,
      );
    }
    const groups: Group[] = [];
    for (const [value, sum] of sums) {
      const ns = sum.known + scale * sum.sampled + scaleOpen * sum.sampledOpen;
      if (ns < 0.5) continue;
      groups.push({
        value,
        wait_ns: Math.round(ns),
        signalling_ns: sum.notification,
        after_notification_ns: 0, // known only for the sum of all waiting
        ...this.counted(parts, sum.rows),
        rows: Int32Array.from(sum.rows),
        samples: sum.samples.size,
      });
    }
    return groups.sort((a, b) => b.wait_ns - a.wait_ns || a.value - b.value);
  }

  /** Waits count in every group that they have a piece in, with all of their time. */
  private counted(
    parts: Parts,
    rows: number[],
  ): { count: number; max_ns: number } {
    let [count, longest, length, last] = [0, 0, 0, -1];
    for (const row of rows) {
      if (this.waits.wait[row]! < 0) continue;
      if (this.waits.wait[row] !== last) {
        last = this.waits.wait[row]!;
        count++;
        length = 0;
      }
      length += parts.ns[row]!;
      longest = Math.max(longest, length);
    }
    return { count, max_ns: longest };
  }

  private visit(
    thread: number,
    start: number,
    end: number,
    wait: (context: number, from: number, to: number) => void,
    sample: (context: number, weight: number, sample: number) => void,
  ): void {
    const { time, weight, state, context } = this.samples;
    const last = this.first[thread + 1]!;
    for (let i = this.after(thread, start); i < last; i++) {
      if (state[i] === RUNNING) {
        if (time[i]! > end) break;
        sample(context[i]!, weight[i]!, i);
      } else {
        wait(context[i]!, time[i]! - weight[i]!, time[i]!);
        if (time[i]! >= end) break;
      }
    }
    const rows = this.contended.get(thread) ?? [];
    // A thread waits once at a time, so they are by their ends, too.
    let at = search(rows.length, (i) => this.waits.end[rows[i]!]! > start);
    for (; at < rows.length && this.waits.start[rows[at]!]! < end; at++) {
      const row = rows[at]!;
      wait(
        this.waits.waiter[row]!,
        this.waits.start[row]!,
        this.waits.end[row]!,
      );
    }
  }

  /** The first sample of a thread after a moment. */
  private after(thread: number, moment: number): number {
    const first = this.first[thread]!;
    const count = this.first[thread + 1]! - first;
    return first + search(count, (i) => this.samples.time[first + i]! > moment);
  }
}

/** The first of so many numbers that fits; once one does, all behind it do. */
function search(count: number, fits: (i: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
