/** What is compared with what: two recordings, or two ranges of one. */
import type { Recording } from "../../data/recording";
import type { Selection } from "../../profile/selection";
import type { State } from "../../shell/state";

export interface Side {
  /** Which recording. */
  which: number;
  selection: Selection;
  title: string;
}

export interface Range {
  from: number;
  to: number;
}

export function parseRange(text: string | null | undefined): Range | null {
  const found = /^(\d{1,16})-(\d{1,16})$/.exec(text ?? "");
  if (!found) return null;
  const range = { from: Number(found[1]), to: Number(found[2]) };
  return range.to > range.from ? range : null;
}

export function formatRange(range: Range): string {
  return `${Math.round(range.from)}-${Math.round(range.to)}`;
}

/** Base and new; null where one recording has no two ranges yet. */
export function sides(
  recordings: readonly Recording[],
  state: State,
): [Side, Side] | null {
  const [first, second] = recordings;
  const { time, threads, processes, span, from, to } = state;
  if (first && second) {
    const swap = state.settings["diff.swap"] === "1";
    const pair: [Side, Side] = [
      {
        which: 0,
        selection: { time, threads, processes, span, from, to },
        title: first.meta.file,
      },
      {
        which: 1,
        // Threads and spans are known by their names over there; processes by nothing.
        selection: {
          time,
          threads: threads && named(first, second, threads),
          processes: null,
          span: span === null ? null : spanNamed(first, second, span),
          from,
          to,
        },
        title: second.meta.file,
      },
    ];
    return swap ? [pair[1], pair[0]] : pair;
  }
  const base = parseRange(state.settings["diff.base"]);
  const fresh = parseRange(state.settings["diff.new"]);
  if (!first || !base || !fresh) return null;
  const side = (range: Range): Side => ({
    which: 0,
    selection: { time, threads, processes, span, ...range },
    title: seconds(range),
  });
  return [side(base), side(fresh)];
}

export function seconds(range: Range): string {
  const format = (ns: number) => (ns / 1e9).toFixed(3);
  return `${format(range.from)} – ${format(range.to)} s`;
}

/** The threads of the other recording that bear the same names. */
function named(
  here: Recording,
  there: Recording,
  threads: readonly number[],
): number[] {
  const names = new Set(threads.map((row) => here.threads[row]?.name));
  const found: number[] = [];
  there.threads.forEach((thread, row) => {
    if (names.has(thread.name)) found.push(row);
  });
  return found;
}

/** The number of the same name over there, one that nothing has if there is none. */
function spanNamed(here: Recording, there: Recording, span: number): number {
  const name = here.meta.spans[span]?.name;
  const found = there.meta.spans.findIndex((row) => row.name === name);
  return found < 0 ? there.meta.spans.length : found;
}
