/** The recording in the sentences of the text report, and its time as shares. */

import { programName, runtimeName } from "../../data/names";
import type { Meta, Recording } from "../../data/recording";
import { count, duration, percent, shorten } from "../../elements/format";
import type { ColourName } from "../../elements/theme";
import { KINDS } from "../locks/labels";

const NOTIFICATIONS = new Set([
  "condition",
  "event",
  "barrier",
  "queue",
  "join",
  "future",
]);
const MAX_KINDS = 3;

export function targetSentence(recording: Recording): string {
  const { meta, processes, threads } = recording;
  const pid = meta.target?.pid;
  const versions = [
    ...new Set(
      processes.map((one) => `${runtimeName(one.runtime)} ${one.version}`),
    ),
  ].sort();
  const many = [count(threads.length, "thread")];
  if (processes.length > 1)
    many.push(count(processes.length, "process", "processes"));
  return (
    shorten(programName(meta.target, meta.file), 120) +
    (pid === undefined || pid === null ? "" : ` (pid ${pid})`) +
    ` was recorded for ${duration(meta.duration)}` +
    (versions.length ? ` under ${shorten(versions.join(", "), 120)}` : "") +
    `, ${many.join(" in ")}.`
  );
}

export function timeSentence(meta: Meta): string {
  const { summary } = meta;
  const cpu: number = summary.cpu_ns;
  const kinds: Record<string, number> = summary.wait_ns;
  const waitNs = Object.values(kinds).reduce((sum, ns) => sum + ns, 0);
  let sentence = `It used ${duration(cpu)} of CPU time`;
  if (meta.duration)
    sentence += `, ${percent(cpu / meta.duration, 0)} of one core`;
  if (!waitNs) return `${sentence}.`;
  const parts = topKinds(kinds).map(
    ([kind, ns]) => `${duration(ns)} ${waitPhrase(kind)}`,
  );
  const last = parts.pop()!;
  const listed = parts.length ? `${parts.join(", ")} and ${last}` : last;
  sentence += `, and its threads waited ${listed}`;
  // Where sleep, input and output were not recorded: of what would this be a share?
  if (!("waiting" in kinds) && !("preempted" in kinds)) return `${sentence}.`;
  return `${sentence}. Threads were on CPU ${percent(cpu / (cpu + waitNs), 0)} of the time.`;
}

/** Most first; waits for notifications are one kind and come last: idle threads wait all day. */
function topKinds(kinds: Record<string, number>): [string, number][] {
  const entries = Object.entries(kinds);
  const idle = entries.reduce(
    (sum, [kind, ns]) => sum + (NOTIFICATIONS.has(kind) ? ns : 0),
    0,
  );
  let others = entries
    .filter(([kind, ns]) => !NOTIFICATIONS.has(kind) && ns > 0)
    .sort((a, b) => b[1] - a[1]);
  // The name of one more kind is shorter than the note that there is another.
  if (others.length > MAX_KINDS + 1) {
    const rest = others.slice(MAX_KINDS).reduce((sum, [, ns]) => sum + ns, 0);
    others = [...others.slice(0, MAX_KINDS), ["other", rest]];
  }
  return idle ? [...others, ["signal", idle]] : others;
}

function waitPhrase(kind: string): string {
  const words: Record<string, string> = {
    waiting: "for sleep, I/O or other processes",
    preempted: "in the run queue",
    other: "for other reasons",
    signal: "for notifications (queues, events, joins)",
  };
  return words[kind] ?? `for ${KINDS[kind] ?? kind}`;
}

export interface Share {
  readonly name: string;
  readonly ns: number;
  readonly colour: ColourName;
  readonly texture: string;
}

/** What threads did with their time, in the textures of the timeline; the rest was not recorded. */
export function shares(
  cpu: number,
  kinds: Record<string, number>,
  wall: number,
): Share[] {
  const of = (wanted: (kind: string) => boolean) =>
    Object.entries(kinds).reduce(
      (sum, [kind, ns]) => sum + (wanted(kind) ? ns : 0),
      0,
    );
  const plain = (kind: string) =>
    kind === "waiting" || kind === "preempted" || kind === "gil";
  const found: Share[] = [
    { name: "on CPU", ns: cpu, colour: "running", texture: "solid" },
    {
      name: "waiting for the GIL",
      ns: kinds.gil ?? 0,
      colour: "gil",
      texture: "hatched",
    },
    {
      name: "waiting for locks",
      ns: of((kind) => !plain(kind) && !NOTIFICATIONS.has(kind)),
      colour: "lock",
      texture: "crossed",
    },
    {
      name: "waiting for a notification (queue, event, join)",
      ns: of((kind) => NOTIFICATIONS.has(kind)),
      colour: "io",
      texture: "lined",
    },
    {
      name: "sleep, I/O, other waits",
      ns: kinds.waiting ?? 0,
      colour: "io",
      texture: "dotted",
    },
    {
      name: "runnable, in the run queue",
      ns: kinds.preempted ?? 0,
      colour: "off",
      texture: "solid",
    },
  ];
  const known = found.reduce((sum, share) => sum + share.ns, 0);
  if (wall > known) {
    found.push({
      name: "not recorded",
      ns: wall - known,
      colour: "line",
      texture: "solid",
    });
  }
  return found.filter((share) => share.ns > 0);
}
