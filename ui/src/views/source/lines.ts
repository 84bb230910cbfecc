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
  // A built-in function has no lines, so its time is the calling line's own.
  const hasLines = Uint8Array.from(functions, (fn) =>
    fn.file !== BUILT_IN && !standsIn(fn) ? 1 : 0,
  );
  const found = new Map<string, File>();
  const ofFunction = functions.map((fn) => fn.file);
  const bearer = new Int32Array(tree.size);
  const places: (Line | null)[] = new Array<Line | null>(tree.size).fill(null);
  const holders: (File | null)[] = new Array<File | null>(tree.size).fill(null);

  for (let node = 0; node < tree.size; node++) {
    const parent = tree.parent[node]!;
    const fn = tree.fn[node]!;
    bearer[node] = hasLines[fn] ? node : parent < 0 ? -1 : bearer[parent]!;
    if (!tree.totalSamples[node]) continue;
    if (hasLines[fn]) {
      const file = fileOf(found, ofFunction[fn]!);
      const line = lineOf(file, tree.line[node]!);
      if (!line.functions.includes(fn)) line.functions.push(fn);
      places[node] = line;
      holders[node] = file;
    }
    const at = bearer[node]!;
    if (at >= 0) {
      places[at]!.self += tree.own[node]!;
      holders[at]!.self += tree.own[node]!;
    }
  }
  // Going down, what is already open above is counted there.
  const openLines = new Set<Line>();
  const openFiles = new Set<File>();
  const walk: {
    node: number;
    line: Line | null;
    file: File | null;
    leaving: boolean;
  }[] = [];
  const enter = (at: number) => {
    for (let k = tree.first[at]!; k < tree.first[at + 1]!; k++) {
      walk.push({
        node: tree.child[k]!,
        line: null,
        file: null,
        leaving: false,
      });
    }
  };
  enter(tree.size);
  for (let step = walk.pop(); step; step = walk.pop()) {
    if (step.leaving) {
      if (step.line) openLines.delete(step.line);
      if (step.file) openFiles.delete(step.file);
      continue;
    }
    const { node } = step;
    if (!tree.totalSamples[node]) continue;
    const line = places[node]!;
    const file = holders[node]!;
    const leave = {
      node,
      line: null as Line | null,
      file: null as File | null,
      leaving: true,
    };
    if (line && !openLines.has(line)) {
      openLines.add((leave.line = line));
      line.total += tree.total[node]!;
      line.waiting += tree.totalWaiting[node]!;
    }
    if (file && !openFiles.has(file)) {
      openFiles.add((leave.file = file));
      file.total += tree.total[node]!;
    }
    walk.push(leave);
    enter(node);
  }
  return [...found.values()].sort(
    (a, b) =>
      b.self - a.self || b.total - a.total || (a.file < b.file ? -1 : 1),
  );
}

function fileOf(files: Map<string, File>, name: string): File {
  let file = files.get(name);
  if (!file)
    files.set(
      name,
      (file = { file: name, self: 0, total: 0, lines: new Map() }),
    );
  return file;
}

function lineOf(file: File, number: number): Line {
  let line = file.lines.get(number);
  if (!line) {
    line = { line: number, self: 0, total: 0, waiting: 0, functions: [] };
    file.lines.set(number, line);
  }
  return line;
}
