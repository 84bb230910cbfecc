/** Spans in words: the one under the pointer, those of a lane, and all by name. */
import type { Recording } from "../../../data/recording";
import { h } from "../../../elements/dom";
import {
  duration,
  moment,
  displayName,
  shorten,
} from "../../../elements/format";
import type { App } from "../../../shell/app";
import type { Lane } from "../lanes/lane";

/** One span, and what it was entered in. */
export function spanDetail(
  recording: Recording,
  lane: Lane,
  i: number,
): HTMLElement {
  const spans = lane.spans!;
  const { parent, name } = recording.spanPaths;
  const around: string[] = [];
  for (let at = parent[spans.path[i]!]!; at >= 0; at = parent[at]!)
    around.push(nameOf(recording, name[at]!));
  const length = duration(spans.end[i]! - spans.start[i]!);
  return h(
    "div",
    null,
    h(
      "p",
      { class: "detail" },
      h("span", { class: "name" }, nameOf(recording, name[spans.path[i]!]!)),
      h("span", null, spans.open[i] ? `still open, for ${length}` : length),
      h("span", { class: "faint" }, `from ${moment(spans.start[i]!)}`),
    ),
    h(
      "p",
      { class: "faint" },
      `entered by ${shorten(recording.threads[lane.thread]!.label, 80)}` +
        (around.length ? `, inside ${around.join(", inside ")}` : ""),
    ),
  );
}

/** The names in a lane, each with its times and a button to select it alone. */
export function spanLaneDetail(
  recording: Recording,
  lane: Lane,
  app: App,
): HTMLElement {
  const names = new Set<number>();
  for (const path of lane.spans!.path)
    names.add(recording.spanPaths.name[path]!);
  const label = shorten(recording.threads[lane.thread]!.label, 80);
  return h(
    "p",
    { class: "detail" },
    h("span", { class: "name" }, `Spans of ${label}`),
    [...names]
      .sort((a, b) => a - b)
      .slice(0, 20)
      .map((name) => {
        const alone = app.state.span === name;
        return h(
          "button",
          {
            class: "quiet",
            "aria-pressed": String(alone),
            onclick: () => app.set({ span: alone ? null : name }, true),
          },
          alone
            ? "inside and outside spans"
            : `only ${nameOf(recording, name)}`,
        );
      }),
  );
}

function nameOf(recording: Recording, name: number): string {
  return displayName(recording.meta.spans[name]?.name ?? "", 60);
}
