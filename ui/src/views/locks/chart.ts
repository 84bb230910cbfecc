/** The histogram of a row's waits: count over length, both ends of the axis where the waits are. */
import { scaleBand, scaleLinear } from "d3-scale";
import { h, s } from "../../elements/dom";
import { count, duration } from "../../elements/format";
import { fillGaps, type Bucket } from "./histogram";

const HEIGHT = 110;
const BASE = 88;
const WIDTH = 340;
const LEFT = 30;

/** `point` gets what is under the pointer, null when nothing is. */
export function chart(
  buckets: Bucket[],
  isNotified: boolean,
  point: (text: string | null) => void,
): HTMLElement {
  const bars = fillGaps(buckets);
  const most = Math.max(...bars.map((bucket) => bucket.count), 1);
  // A few waits are no wall: bars are at most a sixth of the room.
  const places = Array.from({ length: Math.max(bars.length, 6) }, (_, i) => i);
  const x = scaleBand(places, [LEFT, WIDTH]);
  const y = scaleLinear([0, most], [BASE, 12]);
  const step = x.bandwidth();
  const every = Math.ceil(bars.length / 6);
  const svg = s("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    width: WIDTH,
    height: HEIGHT,
    role: "img",
    "aria-label": `Histogram of ${count(total(buckets), "wait")} by length`,
  });
  for (const value of y.ticks(3).filter(Number.isInteger)) {
    if (!value) continue;
    svg.append(
      s("line", {
        class: "rule",
        x1: LEFT,
        x2: WIDTH,
        y1: y(value),
        y2: y(value),
      }),
      s(
        "text",
        { x: LEFT - 4, y: y(value) + 4, "text-anchor": "end" },
        short(value),
      ),
    );
  }
  bars.forEach((bucket, i) => {
    const left = x(i)!;
    const lower = bucket.upper / 2;
    const words =
      `${count(bucket.count, "wait")} of ${duration(lower)} to ` +
      `${duration(bucket.upper)}, together ${duration(bucket.ns)}`;
    if (bucket.count) {
      svg.append(
        s(
          "rect",
          {
            class: isNotified ? "notified" : "held",
            x: left + 1,
            // What is there is visible, however few.
            y: Math.min(y(bucket.count), BASE - 1.5),
            width: Math.max(step - 2, 1),
            height: Math.max(BASE - y(bucket.count), 1.5),
            "data-upper": bucket.upper,
            "data-count": bucket.count,
            onpointerenter: () => point(words),
            onpointerleave: () => point(null),
          },
          s("title", null, words),
        ),
      );
    }
    if (i % every === 0) {
      svg.append(
        s(
          "text",
          { x: left, y: BASE + 15, "text-anchor": "middle", class: "tick" },
          duration(lower).replace(/\.\d+ /, " "),
        ),
      );
    }
  });
  svg.append(
    s("line", { class: "axis", x1: LEFT, x2: WIDTH, y1: BASE, y2: BASE }),
  );
  return h(
    "figure",
    { class: "histogram" },
    svg,
    h("figcaption", { class: "faint" }, "waits by their length (doubling)"),
  );
}

function total(buckets: Bucket[]): number {
  return buckets.reduce((sum, bucket) => sum + bucket.count, 0);
}

function short(value: number): string {
  return value >= 10_000
    ? `${Math.round(value / 1000)}k`
    : String(Math.round(value));
}
