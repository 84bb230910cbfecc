/** The chosen samples summed over the calling context tree; what the time views share. */

import type { Fn, Recording, Samples } from "../data/recording";
import {
  EVERYTHING,
  shiftSums,
  isNarrowed,
  SampleIndex,
  sumSamples,
  type Selection,
  type Sums,
} from "./selection";
import { OUTSIDE } from "./owncode";
import { functionsOf, shapeOf, type Shape } from "./shape";
import { NO_CHANGES, transform, type Changes } from "./transform";

export type { Selection } from "./selection";
export type Unit = "ns" | "bytes";
export type { Shape } from "./shape";

/** A shape with its times; nodes without samples are there too, with zeros. */
export interface Tree extends Shape {
  /** Nanoseconds of the node itself, and with all below it. */
  readonly self: Float64Array;
  readonly total: Float64Array;
  /** The part of them that was waiting. */
  readonly selfWaiting: Float64Array;
  readonly totalWaiting: Float64Array;
  /** Samples that ended in the node, and in it or below. */
  readonly samples: Float64Array;
  readonly totalSamples: Float64Array;
}

export interface Profile {
  readonly recording: Recording;
  readonly selection: Selection;
  readonly changes: Changes;
  /** What is counted. */
  readonly unit: Unit;
  /** Distinct functions; the last are `[undecodable]` and `OUTSIDE`. `Tree.fn` points here. */
  readonly functions: readonly Fn[];
  /** All time counted, after focus and hide. */
  readonly total: number;
  /** All time that passed the filters, before focus and hide. */
  readonly measured: number;
  readonly samples: number;
  /** By calling context: one node per line that calls, or per function. */
  tree(mergeLines: boolean): Tree;
}

/** Makes profiles of one recording, and remembers what does not depend on the filters. */
export class Profiler {
  readonly functions: readonly Fn[];
  private readonly withOutside: readonly Fn[];
  private readonly shapes = new Map<string, Shape>();
  private readonly sampleIndex: SampleIndex | null;
  private whole: Sums | null = null;
  private latest: { selection: Selection; sums: Sums } | null = null;

  /** Of sums alone no part can be chosen but running and waiting time. */
  constructor(
    readonly recording: Recording,
    source: Samples | Sums,
  ) {
    const isSums = "runningSamples" in source;
    this.sampleIndex = isSums ? null : new SampleIndex(source);
    if (isSums) this.whole = source;
    this.functions = functionsOf(recording);
    this.withOutside = [...this.functions, OUTSIDE];
  }

  profile(selection: Selection, changes: Changes = NO_CHANGES): Profile {
    return this.profileOf(this.sums(selection), selection, changes, "ns");
  }

  /** The profile of sums that were made elsewhere. */
  profileOf(
    sums: Sums,
    selection: Selection,
    changes: Changes,
    unit: Unit,
  ): Profile {
    const trees = new Map<boolean, Tree>();
    const tree = (mergeLines: boolean): Tree => {
      let found = trees.get(mergeLines);
      if (!found)
        trees.set(
          mergeLines,
          (found = withTimes(this.shape(mergeLines, changes), sums)),
        );
      return found;
    };
    const measured = sum(sums.running) + sum(sums.waiting);
    let total = measured;
    let samples = sum(sums.runningSamples) + sum(sums.waitingSamples);
    if (changes.focus.length || changes.hide.length) {
      const merged = tree(true);
      total = samples = 0;
      for (let i = 0; i < merged.size; i++) {
        if (merged.parent[i] >= 0) continue;
        total += merged.total[i];
        samples += merged.totalSamples[i];
      }
    }
    return {
      recording: this.recording,
      selection,
      changes,
      unit,
      functions: this.withOutside,
      total,
      measured,
      samples,
      tree,
    };
  }

  /** The sums of everything are made once: then another kind of time selects among them. */
  private sums(selection: Selection): Sums {
    const { recording, sampleIndex, latest } = this;
    if (sampleIndex && isNarrowed(selection)) {
      const sums =
        (latest && shiftSums(recording, sampleIndex, latest, selection)) ??
        sumSamples(recording, sampleIndex, selection);
      this.latest = { selection, sums };
      return sums;
    }
    const whole = (this.whole ??= sumSamples(
      recording,
      sampleIndex!,
      EVERYTHING,
    ));
    const none = new Float64Array(whole.running.length);
    if (selection.time === "running")
      return { ...whole, waiting: none, waitingSamples: none };
    if (selection.time === "waiting")
      return { ...whole, running: none, runningSamples: none };
    return whole;
  }

  private shape(mergeLines: boolean, changes: Changes): Shape {
    const key = JSON.stringify([
      mergeLines,
      changes.focus,
      changes.hide,
      changes.collapse,
      changes.mine ?? false,
    ]);
    let shape = this.shapes.get(key);
    if (shape) return shape;
    const plain = JSON.stringify([mergeLines, [], [], [], false]);
    let base = this.shapes.get(plain);
    if (!base) {
      base = shapeOf(this.recording, this.functions, mergeLines);
      this.shapes.set(plain, base);
    }
    shape = key === plain ? base : transform(base, changes, this.withOutside);
    // Two plain ones and the latest changed ones: going back and forth stays quick.
    if (this.shapes.size > 8)
      for (const old of [...this.shapes.keys()].slice(2, 4))
        this.shapes.delete(old);
    this.shapes.set(key, shape);
    return shape;
  }
}

function withTimes(shape: Shape, sums: Sums): Tree {
  const { size, node } = shape;
  const self = new Float64Array(size);
  const selfWaiting = new Float64Array(size);
  const samples = new Float64Array(size);
  for (let i = 0; i < node.length; i++) {
    const to = node[i];
    if (to < 0) continue;
    self[to] += sums.running[i] + sums.waiting[i];
    selfWaiting[to] += sums.waiting[i];
    samples[to] += sums.runningSamples[i] + sums.waitingSamples[i];
  }
  return withTotals(shape, self, selfWaiting, samples);
}

/** A tree of what its nodes have themselves. */
export function withTotals(
  shape: Shape,
  self: Float64Array,
  selfWaiting: Float64Array,
  samples: Float64Array,
): Tree {
  const total = self.slice();
  const totalWaiting = selfWaiting.slice();
  const totalSamples = samples.slice();
  // Parents come first, so from the end the total of every node is complete.
  for (let i = shape.size - 1; i >= 0; i--) {
    const above = shape.parent[i];
    if (above < 0) continue;
    total[above] += total[i];
    totalWaiting[above] += totalWaiting[i];
    totalSamples[above] += totalSamples[i];
  }
  return {
    ...shape,
    self,
    total,
    selfWaiting,
    totalWaiting,
    samples,
    totalSamples,
  };
}

/** The children of a node (of -1: the roots) that have samples, the heaviest first. */
export function heaviestChildren(tree: Tree, node: number): number[] {
  const at = node < 0 ? tree.size : node;
  const found: number[] = [];
  for (let k = tree.first[at]; k < tree.first[at + 1]; k++) {
    const child = tree.child[k];
    if (tree.totalSamples[child] > 0) found.push(child);
  }
  return found.sort(
    (a, b) =>
      tree.total[b] - tree.total[a] ||
      tree.fn[a] - tree.fn[b] ||
      tree.line[a] - tree.line[b],
  );
}

/** The nodes from the root to this one. */
export function path(shape: Shape, node: number): number[] {
  const found: number[] = [];
  for (let at = node; at >= 0; at = shape.parent[at]) found.push(at);
  return found.reverse();
}

function sum(values: Float64Array): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}
