/** Self and total time of every source line in a sample: the rows of `sonde report lines`. */
import type { Fn } from "../../data/recording";
import type { Tree } from "../../profile/profile";
import { BUILT_IN, isPlaceholder } from "../../profile/shape";

export interface Line {
  line: number;
  self: number;
  /** A line that is on a stack more than once counts only once. */
  total: number;
  /** The part of it that was waiting. */
  waiting: number;
  /** Functions that the line is executed in; mostly one. */
  functions: number[];
}

export interface File {
  readonly file: string;
  readonly self: number;
  /** A file that is on a stack more than once counts only once. */
  readonly total: number;
  /** By number; computed on first use: of hundreds of files one is shown. */
  readonly lines: ReadonlyMap<number, Line>;
}

/** What does not depend on the times: which line each node is of, and which nodes count. */
interface Plan {
  files: string[];
  /** By place, which is a line of a file. */
  file: Int32Array;
  line: Int32Array;
  /** By node: its place, and that of the nearest node above that has one; -1: none. */
  place: Int32Array;
  bearer: Int32Array;
  /** By node: no node above is of the same line, of the same file. */
  outerLine: Uint8Array;
  outerFile: Uint8Array;
  /** The nodes whose time file i bears are `node[first[i] .. first[i + 1]]`, ascending. */
  first: Int32Array;
  node: Int32Array;
}

/** The files with lines, by self time, descending. */
export function files(tree: Tree, functions: readonly Fn[]): File[] {
  const plan = planOf(tree, functions);
  const found: File[] = [];
  for (let number = 0; number < plan.files.length; number++) {
    let self = 0;
    let total = 0;
    let seen = false;
    for (let k = plan.first[number]!; k < plan.first[number + 1]!; k++) {
      const node = plan.node[k]!;
      if (!tree.totalSamples[node]) continue;
      seen = true;
      self += tree.self[node]!;
      if (plan.outerFile[node]) total += tree.total[node]!;
    }
    if (seen) found.push(new ProfiledFile(tree, plan, number, self, total));
  }
  return found.sort(
    (a, b) =>
      b.self - a.self || b.total - a.total || (a.file < b.file ? -1 : 1),
  );
}

class ProfiledFile implements File {
  readonly file: string;
  private made: Map<number, Line> | null = null;

  constructor(
    private readonly tree: Tree,
    private readonly plan: Plan,
    private readonly number: number,
    readonly self: number,
    readonly total: number,
  ) {
    this.file = plan.files[number]!;
  }

  get lines(): ReadonlyMap<number, Line> {
    return (this.made ??= linesOf(this.tree, this.plan, this.number));
  }
}

function linesOf(tree: Tree, plan: Plan, number: number): Map<number, Line> {
  const lines = new Map<number, Line>();
  for (let k = plan.first[number]!; k < plan.first[number + 1]!; k++) {
    const node = plan.node[k]!;
    if (!tree.totalSamples[node]) continue;
    // What bears the time of a node stands above it, and so was seen before.
    const at = plan.line[plan.bearer[node]!]!;
    let line = lines.get(at);
    if (!line) {
      line = { line: at, self: 0, total: 0, waiting: 0, functions: [] };
      lines.set(at, line);
    }
    line.self += tree.self[node]!;
    if (plan.place[node]! < 0) continue;
    const fn = tree.fn[node]!;
    if (!line.functions.includes(fn)) line.functions.push(fn);
    if (!plan.outerLine[node]) continue;
    line.total += tree.total[node]!;
    line.waiting += tree.totalWaiting[node]!;
  }
  return lines;
}

/** By the column of functions, which trees of one shape share. */
const PLANS = new WeakMap<Int32Array, Plan>();

function planOf(tree: Tree, functions: readonly Fn[]): Plan {
  let plan = PLANS.get(tree.fn);
  if (!plan) PLANS.set(tree.fn, (plan = planned(tree, functions)));
  return plan;
}

function planned(tree: Tree, functions: readonly Fn[]): Plan {
  const numbers = new Map<string, number>();
  // A built-in function has no lines, so its time is self time of the calling line.
  const fileOf = Int32Array.from(functions, (fn) => {
    if (fn.file === BUILT_IN || isPlaceholder(fn)) return -1;
    const known = numbers.get(fn.file) ?? numbers.size;
    numbers.set(fn.file, known);
    return known;
  });
  const places = new Map<number, number>();
  const file: number[] = [];
  const line: number[] = [];
  const place = new Int32Array(tree.size);
  const bearer = new Int32Array(tree.size);
  for (let node = 0; node < tree.size; node++) {
    const number = fileOf[tree.fn[node]!]!;
    const parent = tree.parent[node]!;
    if (number < 0) {
      place[node] = -1;
      bearer[node] = parent < 0 ? -1 : bearer[parent]!;
      continue;
    }
    const key = number * 2 ** 24 + tree.line[node]!;
    let at = places.get(key);
    if (at === undefined) {
      places.set(key, (at = file.length));
      file.push(number);
      line.push(tree.line[node]!);
    }
    place[node] = bearer[node] = at;
  }
  const ofPlace = Int32Array.from(file);
  const first = new Int32Array(numbers.size + 1);
  for (const at of bearer) if (at >= 0) first[ofPlace[at]! + 1]!++;
  for (let i = 0; i < numbers.size; i++) first[i + 1]! += first[i]!;
  const next = first.slice();
  const node = new Int32Array(first[numbers.size]!);
  bearer.forEach((at, i) => {
    if (at >= 0) node[next[ofPlace[at]!]!++] = i;
  });
  return {
    files: [...numbers.keys()],
    file: ofPlace,
    line: Int32Array.from(line),
    place,
    bearer,
    outerLine: outermost(tree, place, file.length),
    outerFile: outermost(
      tree,
      place.map((at) => (at < 0 ? -1 : ofPlace[at]!)),
      numbers.size,
    ),
    first,
    node,
  };
}

/** Which nodes have no ancestor of the same key; keys are less than `size`, -1 is none. */
function outermost(tree: Tree, key: Int32Array, size: number): Uint8Array {
  const found = new Uint8Array(tree.size);
  const open = new Uint8Array(size);
  // A stack of our own, since trees are deeper than the browser's may go. A node that is to be
  // left after all below it is there a second time, as its complement.
  const walk: number[] = [];
  const enter = (at: number) => {
    for (let k = tree.first[at]!; k < tree.first[at + 1]!; k++) {
      walk.push(tree.child[k]!);
    }
  };
  enter(tree.size);
  for (let node = walk.pop(); node !== undefined; node = walk.pop()) {
    if (node < 0) {
      open[key[~node]!] = 0;
      continue;
    }
    const mine = key[node]!;
    if (mine >= 0 && !open[mine]) {
      found[node] = open[mine] = 1;
      walk.push(~node);
    }
    enter(node);
  }
  return found;
}
