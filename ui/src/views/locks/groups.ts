/**
 * Waiting split by one aspect after the other: the rows of `sonde report locks --by …`.
 *
 * Hofer's selectors and aggregators (4.3.2), made from the top as rows are opened: a level costs
 * one pass over the rows of its parent, so a new order of aspects shows at once however many waits
 * there are.
 */
import { AFTER_NOTIFICATION, type Waits } from "../../data/recording";
import type { Parts } from "./parts";

export interface Group {
  /** Value of the aspect it was split by; -1 is unknown. */
  value: number;
  wait_ns: number;
  /** The part of it that was for a notification (a queue, an event, a join), not for a lock. */
  signalling_ns: number;
  /** The part of it that was for the lock of a condition, after that was notified. */
  after_notification_ns: number;
  count: number;
  max_ns: number;
  /** Rows of the waits, those of one wait together. */
  rows: Int32Array;
  /** The CPU samples that an estimated time rests on. */
  samples?: number;
}

/** The groups of the given rows, most waiting first. */
export function split(
  waits: Waits,
  parts: Parts,
  rows: Int32Array,
  values: Int32Array,
): Group[] {
  const { of, found } = numberValues(rows, values);
  const sums = new Sums(found.length);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    sums.add(of[i]!, waits, row, parts.ns[row]!);
  }
  // All members in one piece of memory, group after group.
  const members = new Int32Array(rows.length);
  const next = new Int32Array(found.length + 1);
  for (let group = 0; group < found.length; group++) {
    next[group + 1] = next[group]! + sums.rows[group]!;
  }
  const first = next.slice();
  for (let i = 0; i < rows.length; i++) members[next[of[i]!]!++] = rows[i]!;
  return found
    .map((value, group) => {
      const mine = members.subarray(first[group], first[group + 1]);
      return sums.group(group, value, mine);
    })
    .sort((a, b) => b.wait_ns - a.wait_ns || a.value - b.value);
}

/** The same sums of all rows together. */
export function totalOf(waits: Waits, parts: Parts): Group {
  const sums = new Sums(1);
  for (let i = 0; i < parts.rows.length; i++) {
    const row = parts.rows[i]!;
    sums.add(0, waits, row, parts.ns[row]!);
  }
  return sums.group(0, -1, parts.rows);
}

/** The time for which no owner could be named. */
export function unknownTime(waits: Waits, parts: Parts): number {
  let ns = 0;
  for (const row of parts.rows)
    if (waits.ownerThread[row]! < 0) ns += parts.ns[row]!;
  return ns;
}

/** The length of each wait in the given rows; a wait is as long as its parts there together. */
export function lengths(
  waits: Waits,
  parts: Parts,
  rows: Int32Array,
): Float64Array {
  const found = new Float64Array(rows.length);
  let count = 0;
  let last = -1;
  for (const row of rows) {
    if (waits.wait[row]! < 0) continue;
    if (waits.wait[row]! !== last) {
      last = waits.wait[row]!;
      found[count++] = 0;
    }
    found[count - 1]! += parts.ns[row]!;
  }
  return found.slice(0, count);
}

/** The different values of some rows, and for each row which of them it has. */
export function numberValues(
  rows: Int32Array,
  values: Int32Array,
): { of: Int32Array; found: number[] } {
  let largest = -1;
  for (let i = 0; i < rows.length; i++) {
    const value = values[rows[i]!]!;
    if (value > largest) largest = value;
  }
  const of = new Int32Array(rows.length);
  const found: number[] = [];
  if (largest >= 4 * rows.length + 256) {
    const known = new Map<number, number>();
    for (let i = 0; i < rows.length; i++) {
      const value = values[rows[i]!]!;
      let number = known.get(value);
      if (number === undefined) {
        number = found.push(value) - 1;
        known.set(value, number);
      }
      of[i] = number;
    }
    return { of, found };
  }
  // Where values lie close together a table finds them, many times faster than a map.
  const known = new Int32Array(largest + 2).fill(-1);
  for (let i = 0; i < rows.length; i++) {
    const value = values[rows[i]!]!;
    if (known[value + 1]! < 0) known[value + 1] = found.push(value) - 1;
    of[i] = known[value + 1]!;
  }
  return { of, found };
}

/** Sums of several groups at once, in columns: an object for each would be slower. */
class Sums {
  readonly rows: Int32Array;
  private readonly ns: Float64Array;
  private readonly notification: Float64Array;
  private readonly notified: Float64Array;
  private readonly count: Int32Array;
  private readonly longest: Float64Array;
  /** The wait that was added last, and its length so far. */
  private readonly wait: Int32Array;
  private readonly length: Float64Array;

  constructor(size: number) {
    this.rows = new Int32Array(size);
    this.ns = new Float64Array(size);
    this.notification = new Float64Array(size);
    this.notified = new Float64Array(size);
    this.count = new Int32Array(size);
    this.longest = new Float64Array(size);
    this.wait = new Int32Array(size).fill(-1);
    this.length = new Float64Array(size);
  }

  add(group: number, waits: Waits, row: number, ns: number): void {
    const wait = waits.wait[row]!;
    this.rows[group]!++;
    this.ns[group]! += ns;
    if (waits.notification[row]) this.notification[group]! += ns;
    if (waits.part[row]! & AFTER_NOTIFICATION) this.notified[group]! += ns;
    if (wait < 0) return; // waits that were only added up
    if (this.wait[group] !== wait) {
      this.wait[group] = wait;
      this.length[group] = 0;
      this.count[group]!++;
    }
    const length = (this.length[group]! += ns);
    if (length > this.longest[group]!) this.longest[group] = length;
  }

  group(group: number, value: number, rows: Int32Array): Group {
    return {
      value,
      wait_ns: this.ns[group]!,
      signalling_ns: this.notification[group]!,
      after_notification_ns: this.notified[group]!,
      count: this.count[group]!,
      max_ns: this.longest[group]!,
      rows,
    };
  }
}
