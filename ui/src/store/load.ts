/** What the page of a store asks its server for; src/sonde/web/store.py is the other side. */

import { Columns, inflate } from "../data/columns";
import type { Fn, Recording } from "../data/recording";
import { Profiler } from "../profile/profile";
import type { Sums } from "../profile/selection";
import { heatOf, type Heat, type HeatJson } from "./heatgrid";
import type { Value } from "./selection";

export interface Values {
  readonly label: string;
  /** With the number of recordings that have it, most first. */
  readonly values: readonly (readonly [Value, number])[];
  readonly more: number;
}

export interface StoreMeta {
  readonly address: string;
  readonly version: string;
  readonly recordings: number;
  readonly hosts: number;
  readonly taken: number;
  readonly lost: number;
  readonly undecodable: number;
  readonly labels: readonly Values[];
}

/** A tree of contexts with its times. */
export interface SummedTree {
  readonly recording: Recording;
  readonly sums: Sums;
  /** How many recordings it is of. */
  readonly recordings: number;
}

export function isStore(): boolean {
  return document.querySelector('meta[name="sonde-store"]') !== null;
}

export async function meta(): Promise<StoreMeta> {
  return parseJson<StoreMeta>(await ask("meta", {}));
}

export async function heat(question: object): Promise<Heat> {
  return heatOf(parseJson<HeatJson>(await ask("heat", question)));
}

export async function tree(
  question: object,
  title: string,
): Promise<SummedTree> {
  return decodeTree(await ask("tree", question), title);
}

/** Makes what the time views want: a recording whose samples are summed up already. */
export function profilerOf({ recording, sums }: SummedTree): Profiler {
  return new Profiler(recording, sums);
}

export function decodeTree(bytes: Uint8Array, title: string): SummedTree {
  const columns = new Columns(bytes);
  const head = parseJson<{
    recordings: number;
    functions: [string, number, number, string, string][];
    files: string[];
  }>(columns.unsigned(Uint8Array));
  const functions: Fn[] = head.functions.map(
    ([name, file, line, runtime, module]) => ({
      name,
      file: head.files[file],
      line,
      runtime,
      module,
    }),
  );
  const parent = columns.changes(Int32Array);
  const fn = columns.orUnknown(Int32Array);
  const line = columns.signed(Int32Array);
  // One place more, for samples without a context: theirs is a context of its own here.
  const sum = () => {
    const column = columns.unsigned(Float64Array);
    const longer = new Float64Array(column.length + 1);
    longer.set(column);
    return longer;
  };
  const sums: Sums = {
    running: sum(),
    waiting: sum(),
    runningSamples: sum(),
    waitingSamples: sum(),
  };
  const none = () => Promise.reject(new Error("stores have no single events"));
  const recording: Recording = {
    meta: {
      file: title,
      target: {},
      duration: 0,
      summary: null,
      quality: null,
      warnings: [],
      kinds: [],
      aspects: [],
      undecided: 0,
      hasSources: false,
      counts: {
        samples: 0,
        contentions: 0,
        spans: 0,
        calls: 0,
        objects: 0,
        tasks: 0,
      },
      loops: [],
      taskNames: [],
      flow: null,
      survival: false,
      advice: [],
      spans: [],
      version: "",
    },
    processes: [],
    threads: [],
    functions,
    locks: [],
    marks: [],
    cpuLoss: [],
    contexts: { parent, fn, line },
    spanPaths: { parent: new Int32Array(), name: new Int32Array() },
    samples: none,
    waits: none,
    spans: none,
    calls: none,
    objects: none,
    flow: none,
    tasks: none,
    source: () => Promise.resolve(null),
  };
  return { recording, sums, recordings: head.recordings };
}

function parseJson<T>(bytes: Uint8Array): T {
  return JSON.parse(new TextDecoder().decode(bytes)) as T;
}

async function ask(what: string, question: object): Promise<Uint8Array> {
  let answer: Response;
  try {
    const words = encodeURIComponent(JSON.stringify(question));
    answer = await fetch(`s/${what}?ask=${words}`);
  } catch {
    throw new Error("no connection to the server; run `sonde view` again");
  }
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return inflate(new Uint8Array(await answer.arrayBuffer()));
}
