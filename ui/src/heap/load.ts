/** What the page of a heap asks for; src/sonde/web/heap.py is the other side. */

import { inflate } from "../data/columns";

export interface TypeRow {
  readonly type: string;
  readonly count: number;
  readonly shallow: number;
  readonly retained: number;
  /** Of the program itself, not of a library. */
  readonly own: boolean;
}

/** One object, or several of a type if it has no id. */
export interface DominatorRow {
  readonly type: string;
  readonly text: string | null;
  readonly id: string | null;
  readonly count: number;
  readonly shallow: number;
  readonly retained: number;
  readonly children: readonly DominatorRow[];
}

export interface DuplicateRow {
  readonly type: string;
  readonly value: string | null;
  readonly count: number;
  readonly wasted: number;
  readonly holder: string;
}

export interface SparseRow {
  readonly type: string;
  readonly holder: string;
  readonly count: number;
  readonly room: number;
  readonly used: number;
  readonly wasted: number;
}

export interface PathStep {
  readonly type: string;
  readonly text: string | null;
  readonly edge: string | null;
  readonly name: string | null;
  readonly id: string;
}

export interface HeapPath {
  readonly root: { readonly kind: string; readonly name: string | null };
  readonly steps: readonly PathStep[];
  readonly count: number;
  readonly retained: number;
}

/** A frame of a call stack, as the reports have it. */
export interface Frame {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}

/** Sampled objects of a type, allocated in one call stack, and what they stand for. */
export interface AllocationRow {
  readonly type: string;
  /** Outermost first; null: not known. */
  readonly context: readonly Frame[] | null;
  readonly sampled: number;
  readonly estimated_bytes: number;
  readonly margin_bytes: number;
}

export interface HeapPaths {
  readonly target: string;
  readonly objects: number;
  readonly retained: number;
  readonly paths: readonly HeapPath[];
  readonly heaviest: HeapPath | null;
  /** Where they, and what they alone keep alive, were allocated; null: the page has no recording. */
  readonly allocations: {
    readonly recording: string;
    readonly sampled: number;
    readonly rows: readonly AllocationRow[];
  } | null;
}

export interface HeapMeta {
  readonly file: string;
  readonly runtime: string;
  readonly origin: {
    readonly pid: number | null;
    readonly version: string;
    readonly taken: string;
    readonly pause_ns: number | null;
  };
  readonly estimated: boolean;
  readonly warnings: readonly string[];
  readonly objects: number;
  readonly bytes: number;
  readonly unreachableObjects: number;
  readonly unreachableBytes: number;
  readonly types: readonly TypeRow[];
  readonly typesLeft: number;
  readonly dominators: readonly DominatorRow[];
  readonly minShare: number;
  readonly duplicates: {
    readonly wasted: number;
    readonly sparse_wasted: number;
    readonly rows: readonly DuplicateRow[];
    readonly sparse: readonly SparseRow[];
  };
  readonly duplicatesLeft: number;
}

export interface Heap {
  readonly meta: HeapMeta;
  /** To the objects of a type, or to one object by its id. */
  paths(target: string): Promise<HeapPaths>;
  /** What only this object keeps alive, in detail; null: this page has what it has. */
  readonly dominated: ((id: string) => Promise<readonly DominatorRow[]>) | null;
}

export function isHeap(): boolean {
  return document.querySelector('meta[name="sonde-heap"]') !== null;
}

export async function loadHeap(): Promise<Heap> {
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser is too old to decompress it");
  const heap =
    document.getElementById("heap-meta") === null
      ? await served()
      : await embedded();
  performance.mark("sonde: opened");
  return heap;
}

async function served(): Promise<Heap> {
  return {
    meta: await ask<HeapMeta>("meta"),
    paths: remembered((target) =>
      ask<HeapPaths>(`paths?of=${encodeURIComponent(target)}`),
    ),
    dominated: remembered((id) =>
      ask<readonly DominatorRow[]>(`dominated?by=${encodeURIComponent(id)}`),
    ),
  };
}

/** The same, asked once for each word; what failed is asked again. */
function remembered<T>(
  get: (word: string) => Promise<T>,
): (word: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (word) => {
    let found = known.get(word);
    if (!found) {
      known.set(word, (found = get(word)));
      found.catch(() => known.delete(word));
    }
    return found;
  };
}

async function embedded(): Promise<Heap> {
  const meta = await part<HeapMeta>("meta");
  const paths = new Map(
    Object.entries(await part<Record<string, HeapPaths>>("paths")),
  );
  return {
    meta,
    dominated: null,
    paths(target) {
      const found = paths.get(target);
      return found
        ? Promise.resolve(found)
        : Promise.reject(
            new Error(
              "this file has the paths to the largest types and objects only; " +
                `run: sonde report ${meta.file} heap --path '${target}'`,
            ),
          );
    },
  };
}

async function ask<T>(what: string): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(`h/${what}`);
  } catch {
    throw new Error("no connection to the server; run `sonde view` again");
  }
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return parse<T>(await inflate(new Uint8Array(await answer.arrayBuffer())));
}

async function part<T>(name: string): Promise<T> {
  const element = document.getElementById(`heap-${name}`);
  if (element === null)
    throw new Error(`this file is incomplete: ${name} is missing`);
  const binary = atob((element.textContent ?? "").trim());
  element.remove();
  return parse<T>(
    await inflate(Uint8Array.from(binary, (char) => char.charCodeAt(0))),
  );
}

function parse<T>(bytes: Uint8Array): T {
  return JSON.parse(new TextDecoder().decode(bytes)) as T;
}
