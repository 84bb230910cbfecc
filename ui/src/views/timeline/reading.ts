/** The lanes as a table: what a canvas cannot say to who does not see it. */
import type { Recording, Waits } from "../../data/recording";
import { h } from "../../shell/dom";
import { duration, printable } from "../../shell/format";
import { measure } from "./order";
import { OFF, OTHER, type Lane } from "./segments";

const COLUMNS = [
  "CPU time",
  "waiting for the GIL",
  "for locks",
  "for signals",
  "for anything else",
  "off by the scheduler",
];

/** Nanoseconds of each thread's waits, as `sonde report threads` counts them. */
export interface Waited {
  gil: Float64Array;
  locks: Float64Array;
  signals: Float64Array;
}

export function waited(waits: Waits, threads: number, gil: number): Waited {
  const found: Waited = {
    gil: new Float64Array(threads),
    locks: new Float64Array(threads),
    signals: new Float64Array(threads),
  };
  for (let row = 0; row < waits.ns.length; row++) {
    const column = waits.signalling[row]
      ? found.signals
      : waits.kind[row] === gil
        ? found.gil
        : found.locks;
    column[waits.thread[row]!]! += waits.ns[row]!;
  }
  return found;
}

export function reading(
  recording: Recording,
  lanes: readonly Lane[],
  times: Waited,
): HTMLElement {
  return h(
    "table",
    { class: "for-readers" },
    h("caption", null, "Threads and their times"),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        ["thread", ...COLUMNS].map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h(
      "tbody",
      null,
      lanes.map((lane) => {
        const { thread, spent } = lane;
        const figures = [
          measure(recording, lane, "cpu"),
          times.gil[thread]!,
          times.locks[thread]!,
          times.signals[thread]!,
          spent[OTHER]!,
          spent[OFF]!,
        ];
        return h(
          "tr",
          null,
          h(
            "th",
            { scope: "row" },
            printable(recording.threads[thread]!.label.slice(0, 200)),
          ),
          figures.map((ns) => h("td", { "data-ns": ns }, duration(ns))),
        );
      }),
    ),
  );
}
