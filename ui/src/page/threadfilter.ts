/** Choosing threads and processes. */

import { threadName } from "../data/names";
import type { Thread } from "../data/recording";
import { duration, shorten } from "../elements/format";
import type { App } from "../shell/app";
import { checklist } from "./checklist";

export function threadChoice(app: App) {
  const { threads } = app.recordings[0];
  const items = threads
    .map((thread, row) => ({ row, thread }))
    .sort((a, b) => b.thread.cpu - a.thread.cpu || a.row - b.row)
    .map(({ row, thread }) => ({
      row,
      label: threadName(thread),
      detail: cpuOf(thread),
    }));
  return checklist(
    { one: "thread", many: "threads", items },
    () => app.state.threads,
    (threads) => app.set({ threads }),
  );
}

export function processChoice(app: App) {
  const { processes } = app.recordings[0];
  const items = processes.map((process, row) => ({
    row,
    label: `${process.pid}`,
    detail: shorten(process.argv.join(" "), 60),
  }));
  return checklist(
    { one: "process", many: "processes", items },
    () => app.state.processes,
    (processes) => app.set({ processes }),
  );
}

function cpuOf(thread: Thread): string {
  return thread.cpu >= 0 ? `${duration(thread.cpu)} CPU` : "";
}
