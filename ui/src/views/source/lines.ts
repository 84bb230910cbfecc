/** Own and total time of every source line seen: the rows of `sonde report lines`. */
import type { Fn } from "../../data/recording";
import type { Tree } from "../../profile/profile";
import { BUILT_IN, standsIn } from "../../profile/shape";

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
  file: string;
  self: number;
  /** A file that is on a stack more than once counts only once. */
  total: number;
  lines: Map<number, Line>;
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
}

/** The files with lines, by own time, descending. */
export function files(tree: Tree, functions: readonly Fn[]): File[] {
  const plan = planOf(tree, functions);
  const found: (File | undefined)[] = new Array<File | undefined>(
    plan.files.length,
  );
  const lines: (Line | undefined)[] = new Array<Line | undefined>(
    plan.file.length,
  );
  for (let node = 0; node < tree.size; node++) {
    if (!tree.totalSamples[node]) continue;
    const place = plan.place[node]!;
    if (place >= 0) {
      const number = plan.file[place]!;
      const file = (found[number] ??= {
        file: plan.files[number]!,
        self: 0,
        total: 0,
        lines: new Map(),
      });
      let line = lines[place];
      if (!line) {
        const at = plan.line[place]!;
        line = { line: at, self: 0, total: 0, waiting: 0, functions: [] };
        lines[place] = line;
        file.lines.set(at, line);
      }
      const fn = tree.fn[node]!;
      if (!line.functions.includes(fn)) line.functions.push(fn);
      if (plan.outerLine[node]) {
        line.total += tree.total[node]!;
        line.waiting += tree.totalWaiting[node]!;
      }
      if (plan.outerFile[node]) file.total += tree.total[node]!;
    }
    const bearer = plan.bearer[node]!;
    if (bearer < 0) continue;
    // What bears the time of a node stands above it, and so was seen before.
    lines[bearer]!.self += tree.own[node]!;
    found[plan.file[bearer]!]!.self += tree.own[node]!;
  }
  return found
    .filter((file) => file !== undefined)
    .sort(
      (a, b) =>
        b.self - a.self || b.total - a.total || (a.file < b.file ? -1 : 1),
    );
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
  // A built-in function has no lines, so its time is the calling line's own.
  const fileOf = Int32Array.from(functions, (fn) => {
    if (fn.file === BUILT_IN || standsIn(fn)) return -1;
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
