/**
 * Who calls whom, from which line, how often: the same as src/sonde/views/calls/calls.py.
 *
 * Weights are shares of the calls that are looked at, and add up to 1.
 */

import type { Calls, Fn, Recording } from "../data/recording";
import { threadMask, type Selection } from "./selection";
import { functionsOf } from "./shape";

/** Calls of one function from one line of another. */
export interface CallEdge {
  /** In `CallGraph.functions`; -1: nothing of the program called it. */
  readonly caller: number;
  readonly line: number;
  readonly callee: number;
  readonly weight: number;
  /** How many were counted. */
  readonly count: number;
  /** The standard error of the weight. */
  readonly error: number;
  /** How far the 95 % confidence interval of the weight reaches. */
  readonly interval: readonly [low: number, high: number];
}

export interface CallGraph {
  readonly functions: readonly Fn[];
  /** The heaviest first. */
  readonly edges: readonly CallEdge[];
  readonly windows: number;
  readonly count: number;
}

export function callGraph(
  recording: Recording,
  calls: Calls,
  selection: Selection,
): CallGraph {
  const functions = functionsOf(recording);
  const edges = new Edges(recording, functions.length - 1);
  const kept = windowMask(recording, calls, selection);
  const rows: number[] = [];
  for (let i = 0; i < calls.window.length; i++)
    if (kept[calls.window[i]]) rows.push(i);
  const edge = rows.map((row) => edges.of(calls.context[row]));
  const count = new Float64Array(edges.size);
  for (const number of edge) count[number]++;
  const { share, error, windows } = shares(calls, rows, edge, edges.size);
  const order = Array.from(share, (_, i) => i).sort(
    (a, b) => share[b] - share[a] || a - b,
  );
  return {
    functions,
    edges: order.map((i) => ({
      ...edges.ends[i],
      weight: share[i],
      count: count[i],
      error: error[i],
      interval: interval(share[i], error[i], windows),
    })),
    windows: kept.reduce((sum, one) => sum + one, 0),
    count: rows.length,
  };
}

/** By window: looked at (1) or not. */
function windowMask(
  recording: Recording,
  calls: Calls,
  selection: Selection,
): Uint8Array {
  const threads = threadMask(recording, selection);
  const from = selection.from ?? -Infinity;
  const to = selection.to ?? Infinity;
  return Uint8Array.from(calls.windowThread, (thread, i) => {
    const time = calls.windowTime[i];
    return threads[thread] && time >= from && time < to ? 1 : 0;
  });
}

/** Numbers edges as they are first met. */
class Edges {
  readonly ends: Pick<CallEdge, "caller" | "line" | "callee">[] = [];
  private readonly known = new Map<string, number>();
  private readonly byContext = new Map<number, number>();

  constructor(
    private readonly recording: Recording,
    private readonly undecodable: number,
  ) {}

  get size(): number {
    return this.ends.length;
  }

  of(context: number): number {
    let number = this.byContext.get(context);
    if (number !== undefined) return number;
    const { parent, line } = this.recording.contexts;
    const above = context < 0 ? -1 : parent[context];
    const ends = {
      caller: above < 0 ? -1 : this.function(above),
      line: above < 0 ? 0 : line[above],
      callee: this.function(context),
    };
    const key = `${ends.caller} ${ends.line} ${ends.callee}`;
    number = this.known.get(key);
    if (number === undefined) {
      number = this.ends.push(ends) - 1;
      this.known.set(key, number);
    }
    this.byContext.set(context, number);
    return number;
  }

  private function(context: number): number {
    const found = context < 0 ? -1 : this.recording.contexts.fn[context];
    return found < 0 ? this.undecodable : found;
  }
}

/**
 * Of each edge its part of all weight, with the standard error of that: from how windows differ
 * from each other, since calls of one window are not independent.
 */
function shares(
  calls: Calls,
  rows: readonly number[],
  edge: readonly number[],
  size: number,
): { share: Float64Array; error: Float64Array; windows: number } {
  const share = new Float64Array(size);
  const error = new Float64Array(size);
  const ofWindow = new Map<number, number>();
  const inBoth = new Map<number, number>();
  let total = 0;
  rows.forEach((row, i) => {
    const weight = calls.weight[row];
    const window = calls.window[row];
    const pair = window * size + edge[i];
    total += weight;
    share[edge[i]] += weight;
    ofWindow.set(window, (ofWindow.get(window) ?? 0) + weight);
    inBoth.set(pair, (inBoth.get(pair) ?? 0) + weight);
  });
  if (!total) return { share, error, windows: 0 };
  for (let i = 0; i < size; i++) share[i] /= total;
  let all = 0;
  for (const weight of ofWindow.values()) all += (weight / total) ** 2;
  const spread = share.map((part) => part ** 2 * all);
  for (const [pair, weight] of inBoth) {
    const one = pair % size;
    const both = weight / total;
    const window = ofWindow.get((pair - one) / size)! / total;
    spread[one] += both ** 2 - 2 * share[one] * both * window;
  }
  for (let i = 0; i < size; i++) error[i] = Math.sqrt(Math.max(spread[i], 0));
  return { share, error, windows: 1 / all };
}

const Z_95 = 1.96; // standard errors
const DENSITY_ERROR = 0.2; // the relative standard error of a density

/**
 * The 95 % confidence interval of a share, as sonde/model/calls/call_windows.py has it: Wilson's, widened
 * as odds by what is not known of densities. `windows` are as many of equal weight.
 */
export function interval(
  share: number,
  error: number,
  windows: number,
): [number, number] {
  if (!(windows > 0)) return [0, 1];
  const part = Math.min(Math.max(share, 0), 1);
  const spread = part * (1 - part);
  const calls = error > 0 ? Math.min(spread / error ** 2, windows) : windows;
  const z2 = Z_95 ** 2 / calls;
  const middle = (part + z2 / 2) / (1 + z2);
  const half = Math.sqrt(z2 * spread + z2 ** 2 / 4) / (1 + z2);
  const low = Math.max(middle - half, 0);
  const high = Math.min(middle + half, 1);
  return part > 0 && part < 1
    ? [widen(part, low, -1), widen(part, high, 1)]
    : [low, high];
}

function widen(share: number, end: number, sign: number): number {
  if (!(end > 0 && end < 1)) return end;
  const odds = logOdds(share);
  const far = Math.hypot(logOdds(end) - odds, Z_95 * DENSITY_ERROR);
  return 1 / (1 + Math.exp(-odds - sign * far));
}

function logOdds(share: number): number {
  return Math.log(share / (1 - share));
}
