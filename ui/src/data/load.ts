/** Where the page gets its recordings from: out of itself, or from the server it came from. */

import { inflate } from "./columns";
import { calls, contexts, flow, objects, samples, spans } from "./decode";
import type {
  Calls,
  Flow,
  Fn,
  Objects,
  Recording,
  Samples,
  Spans,
  Waits,
} from "./recording";
import { tasks } from "./tasks";
import type { Tasks } from "./tasktables";
import { waits } from "./waits";

/** Gives the bytes of a part, decompressed. */
export interface Parts {
  part(name: string): Promise<Uint8Array>;
  source(file: string): Promise<string | null>;
}

/** The recordings of this page: one, or two to be compared. */
export async function load(): Promise<Recording[]> {
  const metaTag = document.querySelector<HTMLMetaElement>(
    'meta[name="sonde-recordings"]',
  );
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser is too old to decompress it");
  const count = Number(metaTag?.content ?? 0);
  if (!count) throw new Error("this file has no recording");
  const embedded = document.getElementById("part-0-meta") !== null;
  const recordings = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      openRecording(embedded ? new EmbeddedParts(i) : new ServerParts(i)),
    ),
  );
  // From here on the page can show something; benchmarks count from this mark.
  performance.mark("sonde: opened");
  return recordings;
}

type RecordingJson = Pick<
  Recording,
  "processes" | "threads" | "locks" | "marks"
> &
  Recording["meta"] & {
    functions: [string, number, number, string, string, boolean][];
    taken: [number, number, number, number, number, number][];
    files: string[];
    spanPaths: [number, number][];
  };

export async function openRecording(parts: Parts): Promise<Recording> {
  const [head, tree] = await Promise.all([
    parts.part("meta"),
    parts.part("contexts"),
  ]);
  const {
    processes,
    threads,
    functions: rows,
    files,
    locks,
    marks,
    spanPaths,
    taken: lost,
    ...meta
  } = JSON.parse(new TextDecoder().decode(head)) as RecordingJson;
  const functions: Fn[] = rows.map(
    ([name, file, line, runtime, module, own]) => ({
      name,
      file: files[file]!,
      line,
      runtime,
      module,
      own,
    }),
  );
  const tables = contexts(tree, functions);
  let sampleRows: Promise<Samples> | undefined;
  let waitRows: Promise<Waits> | undefined;
  let spanRows: Promise<Spans> | undefined;
  let callRows: Promise<Calls> | undefined;
  let objectRows: Promise<Objects> | undefined;
  let flowRows: Promise<Flow> | undefined;
  let taskRows: Promise<Tasks> | undefined;
  return {
    meta,
    processes,
    threads,
    functions,
    locks,
    marks,
    cpuLoss: lost.map(([thread, start, end, queue, quota, hypervisor]) => ({
      thread,
      start,
      end,
      queue,
      quota,
      hypervisor,
    })),
    contexts: tables,
    spanPaths: {
      parent: Int32Array.from(spanPaths, ([parent]) => parent),
      name: Int32Array.from(spanPaths, ([, name]) => name),
    },
    samples: () => (sampleRows ??= parts.part("samples").then(samples)),
    waits: () =>
      (waitRows ??= parts
        .part("waits")
        .then((bytes) => waits(bytes, tables.parent.length))),
    spans: () => (spanRows ??= parts.part("spans").then(spans)),
    calls: () => (callRows ??= parts.part("calls").then(calls)),
    objects: () => (objectRows ??= parts.part("objects").then(objects)),
    flow: () => (flowRows ??= parts.part("flow").then(flow)),
    tasks: () => (taskRows ??= parts.part("tasks").then(tasks)),
    source: (file) =>
      meta.hasSources ? parts.source(file) : Promise.resolve(null),
  };
}

class EmbeddedParts implements Parts {
  private sources: Promise<Record<string, string>> | undefined;

  constructor(private readonly number: number) {}

  async part(name: string): Promise<Uint8Array> {
    const element = document.getElementById(`part-${this.number}-${name}`);
    if (element === null)
      throw new Error(`this file is incomplete: ${name} is missing`);
    const data = bytes(element.textContent ?? "");
    // As text it takes twice the room, and it is not read again.
    element.remove();
    return inflate(data);
  }

  async source(file: string): Promise<string | null> {
    this.sources ??= this.part("sources").then(
      (data) =>
        JSON.parse(new TextDecoder().decode(data)) as Record<string, string>,
    );
    const texts = await this.sources;
    return Object.hasOwn(texts, file) ? texts[file]! : null;
  }
}

class ServerParts implements Parts {
  constructor(private readonly number: number) {}

  async part(name: string): Promise<Uint8Array> {
    const answer = await this.ask(name);
    if (!answer.ok)
      throw new Error(
        `the server refused the ${name} of the recording (${answer.status})`,
      );
    return inflate(new Uint8Array(await answer.arrayBuffer()));
  }

  async source(file: string): Promise<string | null> {
    const answer = await this.ask(`source?file=${encodeURIComponent(file)}`);
    return answer.status === 200 ? answer.text() : null;
  }

  private async ask(what: string): Promise<Response> {
    try {
      return await fetch(`r/${this.number}/${what}`);
    } catch {
      throw new Error("no connection to the server; run `sonde view` again");
    }
  }
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const data = new Uint8Array(binary.length);
  for (let i = 0; i < data.length; i++) data[i] = binary.charCodeAt(i);
  return data;
}
