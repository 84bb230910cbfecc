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

/** The files with lines, by own time, descending. */
export function files(tree: Tree, functions: readonly Fn[]): File[] {
  const places = placesOf(tree, functions);
  const found: (File | undefined)[] = new Array(places.files.length);
  const lines: (Line | undefined)[] = new Array(places.line.length);
  for (let node = 0; node < tree.size; node++) {
    if (!tree.totalSamples[node]) continue;
    const place = places.place[node]!;
    if (place >= 0) {
      const file = (found[places.file[place]!] ??= {
        file: places.files[places.file[place]!]!,
        self: 0,
        total: 0,
        lines: new Map(),
      });
      let line = lines[place];
      if (!line) {
        const number = places.line[place]!;
        line = { line: number, self: 0, total: 0, waiting: 0, functions: [] };
        file.lines.set(number, (lines[place] = line));
      }
      const fn = tree.fn[node]!;
      if (!line.functions.includes(fn)) line.functions.push(fn);
      if (places.outermost[node]! & LINE) {
        line.total += tree.total[node]!;
        line.waiting += tree.totalWaiting[node]!;
      }
      if (places.outermost[node]! & FILE) file.total += tree.total[node]!;
    }
    const bearer = places.bearer[node]!;
    if (bearer >= 0) {
      lines[bearer]!.self += tree.own[node]!;
      found[places.file[bearer]!]!.self += tree.own[node]!;
    }
  }
  return found
    .filter((file) => file !== undefined)
    .sort(
      (a, b) =>
        b.self - a.self || b.total - a.total || (a.file < b.file ? -1 : 1),
    );
}

const LINE = 1;
const FILE = 2;

/** Which line and file each node is of: what the filters do not change, so that it is made once. */
interface Places {
  /** A place is a line of a file. */
  readonly files: string[];
  readonly file: number[];
  readonly line: number[];
  /** By node: its place, -1 if it has none. */
  readonly place: Int32Array;
  /** By node: the place that its own time is of. */
  readonly bearer: Int32Array;
  /** By node: whether LINE and FILE are on the stack for the first time, counted from the root. */
  readonly outermost: Uint8Array;
}

/** By the column of parents: trees of the same shape share it. */
const known = new WeakMap<Int32Array, Places>();

function placesOf(tree: Tree, functions: readonly Fn[]): Places {
  let places = known.get(tree.parent);
  if (!places) known.set(tree.parent, (places = placesMade(tree, functions)));
  return places;
}

function placesMade(tree: Tree, functions: readonly Fn[]): Places {
  const numbers = new Map<string, number>();
  const fileOf = functions.map((fn) => {
    // A built-in function has no lines, so its time is the calling line's own.
    if (fn.file === BUILT_IN || standsIn(fn)) return -1;
    const number = numbers.get(fn.file) ?? numbers.size;
    numbers.set(fn.file, number);
    return number;
  });
  const file: number[] = [];
  const line: number[] = [];
  const byLine = new Map<number, number>();
  const place = new Int32Array(tree.size).fill(-1);
  const bearer = new Int32Array(tree.size).fill(-1);
  for (let node = 0; node < tree.size; node++) {
    const parent = tree.parent[node]!;
    const of = fileOf[tree.fn[node]!]!;
    if (of >= 0) {
      const key = tree.line[node]! * numbers.size + of;
      let number = byLine.get(key);
      if (number === undefined) {
        byLine.set(key, (number = line.length));
        file.push(of);
        line.push(tree.line[node]!);
      }
      place[node] = number;
    }
    bearer[node] = of >= 0 ? place[node]! : parent < 0 ? -1 : bearer[parent]!;
  }
  const outermost = outermostOf(tree, place, file, numbers.size);
  return { files: [...numbers.keys()], file, line, place, bearer, outermost };
}

/** Down and up again, counting what is open above. */
function outermostOf(
  tree: Tree,
  place: Int32Array,
  file: number[],
  files: number,
): Uint8Array {
  const outermost = new Uint8Array(tree.size);
  const openLines = new Int32Array(file.length);
  const openFiles = new Int32Array(files);
  const walk: number[] = [];
  const enter = (at: number) => {
    for (let k = tree.first[at]!; k < tree.first[at + 1]!; k++)
      walk.push(tree.child[k]!);
  };
  enter(tree.size);
  for (let step = walk.pop(); step !== undefined; step = walk.pop()) {
    const leaving = step < 0;
    const node = leaving ? ~step : step;
    const at = place[node]!;
    if (at >= 0) {
      const change = leaving ? -1 : 1;
      if (!leaving)
        outermost[node] =
          (openLines[at] ? 0 : LINE) | (openFiles[file[at]!] ? 0 : FILE);
      openLines[at]! += change;
      openFiles[file[at]!]! += change;
    }
    if (leaving) continue;
    walk.push(~node);
    enter(node);
  }
  return outermost;
}
