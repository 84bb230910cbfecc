/** The parts of a recording as src/sonde/web/bundle.py writes them, made into tables. */

import { Columns } from "./columns";
import type {
  Calls,
  Contexts,
  Flow,
  Fn,
  Objects,
  Samples,
  Spans,
} from "./recording";

export function contexts(bytes: Uint8Array, functions: Fn[]): Contexts {
  const columns = new Columns(bytes);
  const parent = columns.changes(Int32Array);
  const fn = columns.unsigned(Int32Array);
  const line = columns.signed(Int32Array);
  for (let i = 0; i < line.length; i++) line[i]! += functions[fn[i]!]!.line;
  return { parent, fn, line };
}

export function samples(bytes: Uint8Array): Samples {
  const columns = new Columns(bytes);
  const thread = columns.changes(Uint32Array);
  const time = columns.signed(Float64Array);
  const context = columns.orUnknown(Int32Array);
  const weight = columns.signed(Float64Array);
  const state = columns.unsigned(Uint8Array);
  const span = columns.orUnknown(Int32Array);
  const task = columns.orUnknown(Int32Array);
  for (let i = 0; i < time.length; i++) {
    const before = i > 0 && thread[i] === thread[i - 1] ? time[i - 1]! : 0;
    time[i]! += before + weight[i]!;
  }
  return { thread, time, context, weight, state, span, task };
}

export function spans(bytes: Uint8Array): Spans {
  const columns = new Columns(bytes);
  return {
    thread: columns.changes(Uint32Array),
    start: columns.changes(Float64Array),
    length: columns.orUnknown(Float64Array),
    path: columns.unsigned(Int32Array),
  };
}

export function calls(bytes: Uint8Array): Calls {
  const columns = new Columns(bytes);
  return {
    windowThread: columns.unsigned(Uint32Array),
    windowTime: columns.changes(Float64Array),
    window: columns.changes(Int32Array),
    context: columns.orUnknown(Int32Array),
    weight: columns.unsigned(Float64Array),
  };
}

export function objects(bytes: Uint8Array): Objects {
  const columns = new Columns(bytes);
  return {
    thread: columns.unsigned(Uint32Array),
    time: columns.changes(Float64Array),
    length: columns.orUnknown(Float64Array),
    context: columns.orUnknown(Int32Array),
    bytes: columns.unsigned(Float64Array),
  };
}

export function flow(bytes: Uint8Array): Flow {
  const columns = new Columns(bytes);
  const rows = {
    thread: columns.unsigned(Uint32Array),
    context: columns.unsigned(Int32Array),
    calls: columns.unsigned(Float64Array),
    resumptions: columns.unsigned(Float64Array),
    exceptions: columns.unsigned(Float64Array),
    measured: columns.unsigned(Float64Array),
    overhead: columns.unsigned(Float64Array),
    preexisting: columns.unsigned(Float64Array),
  };
  const slices = {
    thread: columns.changes(Uint32Array),
    depth: columns.changes(Int32Array),
    start: columns.changes(Float64Array),
    end: columns.unsigned(Float64Array),
    context: columns.unsigned(Int32Array),
    cut: columns.unsigned(Uint8Array),
  };
  for (let i = 0; i < slices.end.length; i++)
    slices.end[i]! += slices.start[i]!;
  return { ...rows, slices };
}
