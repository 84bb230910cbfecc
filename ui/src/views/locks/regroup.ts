/**
 * Waiting split by one aspect after the other: the rows of `sonde report locks --by …`.
 *
 * Hofer's selectors and aggregators (4.3.2), made from the top as rows are opened: a level costs
 * one pass over the rows of its parent, so a new order of aspects shows at once however many waits
 * there are.
 */
import type { Waits } from "../../data/recording";
import type { Parts } from "./parts";

export interface Group {
  /** Value of the aspect it was split by; -1 is nobody that could be named. */
  value: number;
  wait_ns: number;
  /** The part of it that was for a signal (a queue, an event, a join), not for a lock. */
  signalling_ns: number;
  count: number;
  max_ns: number;
  /** Rows of the waits, those of one wait together. */
  rows: Int32Array;
}

/** The groups of the given rows, most waiting first. */
export function split(
  waits: Waits,
  parts: Parts,
  rows: Int32Array,
  values: Int32Array,
): Group[] {
  const place = places(rows, values);
  const groups: Sums[] = [];
  const of = new Int32Array(rows.length);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const value = values[row]!;
    let group = place.get(value);
    if (group < 0) {
      group = groups.length;
      place.set(value, group);
      groups.push(new Sums(value));
    }
    of[i] = group;
    groups[group]!.add(
      waits.wait[row]!,
      parts.ns[row]!,
      waits.signalling[row] === 1,
    );
  }
  const members = groups.map((group) => new Int32Array(group.size));
  const filled = new Int32Array(groups.length);
  for (let i = 0; i < rows.length; i++) {
    const group = of[i]!;
    members[group]![filled[group]!++] = rows[i]!;
  }
  return groups
    .map((group, i) => group.finished(members[i]!))
    .sort((a, b) => b.wait_ns - a.wait_ns || a.value - b.value);
}

/** The same sums of all rows together. */
export function whole(waits: Waits, parts: Parts): Group {
  const sums = new Sums(-1);
  for (const row of parts.rows) {
    sums.add(waits.wait[row]!, parts.ns[row]!, waits.signalling[row]! === 1);
  }
  return sums.finished(parts.rows);
}

/** The time for which no owner could be named. */
export function unknown(waits: Waits, parts: Parts): number {
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
    if (waits.wait[row]! !== last) {
      last = waits.wait[row]!;
      found[count++] = 0;
    }
    found[count - 1]! += parts.ns[row]!;
  }
  return found.slice(0, count);
}

interface Places {
  /** -1: not seen yet. */
  get(value: number): number;
  set(value: number, place: number): void;
}

/** Where values lie close together an array finds their groups, many times faster than a map. */
function places(rows: Int32Array, values: Int32Array): Places {
  let largest = -1;
  for (let i = 0; i < rows.length; i++) {
    if (values[rows[i]!]! > largest) largest = values[rows[i]!]!;
  }
  if (largest < 4 * rows.length + 256) {
    const known = new Int32Array(largest + 2).fill(-1);
    return {
      get: (value) => known[value + 1]!,
      set: (value, place) => (known[value + 1] = place),
    };
  }
  const known = new Map<number, number>();
  return {
    get: (value) => known.get(value) ?? -1,
    set: (value, place) => known.set(value, place),
  };
}

class Sums {
  private wait_ns = 0;
  private signalling_ns = 0;
  private count = 0;
  private max_ns = 0;
  size = 0;
  private wait = -1;
  private length = 0;

  constructor(private readonly value: number) {}

  add(wait: number, ns: number, signalling: boolean): void {
    this.size++;
    this.wait_ns += ns;
    if (signalling) this.signalling_ns += ns;
    if (wait !== this.wait) {
      this.wait = wait;
      this.length = 0;
      this.count++;
    }
    this.length += ns;
    if (this.length > this.max_ns) this.max_ns = this.length;
  }

  finished(rows: Int32Array): Group {
    const { value, wait_ns, signalling_ns, count, max_ns } = this;
    return { value, wait_ns, signalling_ns, count, max_ns, rows };
  }
}
