/** How long the waits of a row were, by powers of two. */

export interface Bucket {
  /** No wait in it is longer. */
  upper: number;
  count: number;
  ns: number;
}

/** The buckets that are not empty, as in the report's JSON, shortest first. */
export function histogram(lengths: Float64Array): Bucket[] {
  const counts = new Map<number, Bucket>();
  for (const ns of lengths) {
    const power = powerOf(ns);
    let bucket = counts.get(power);
    if (!bucket)
      counts.set(power, (bucket = { upper: 2 ** power, count: 0, ns: 0 }));
    bucket.count++;
    bucket.ns += ns;
  }
  return [...counts.values()].sort((a, b) => a.upper - b.upper);
}

/** The same with the empty buckets in between, as an axis needs them. */
export function fillGaps(buckets: Bucket[]): Bucket[] {
  const found: Bucket[] = [];
  for (const bucket of buckets) {
    for (
      let last = found.at(-1);
      last && last.upper * 2 < bucket.upper;
      last = found.at(-1)
    ) {
      found.push({ upper: last.upper * 2, count: 0, ns: 0 });
    }
    found.push(bucket);
  }
  return found;
}

/** The power of two that a length does not exceed. */
export function powerOf(ns: number): number {
  const above = Math.max(ns - 1, 0);
  if (above === 0) return 0;
  // Math.log2 of a number just below a power of two rounds up to it; the comparison does not.
  let power = Math.max(Math.floor(Math.log2(above)) - 1, 0);
  while (2 ** power <= above) power++;
  return power;
}
