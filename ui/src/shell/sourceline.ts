/** Single lines of source files, each file asked for once. */

import type { Recording } from "../data/recording";

const FILES = new WeakMap<Recording, Map<string, Promise<string[] | null>>>();

export async function sourceLine(
  recording: Recording,
  file: string,
  line: number,
): Promise<string | null> {
  if (!recording.meta.hasSources || line <= 0 || !file || file.startsWith("<"))
    return null;
  let files = FILES.get(recording);
  if (!files) FILES.set(recording, (files = new Map()));
  let lines = files.get(file);
  if (!lines) {
    lines = recording.source(file).then(
      (text) => text?.split("\n") ?? null,
      () => null,
    );
    files.set(file, lines);
  }
  return (await lines)?.[line - 1] ?? null;
}
