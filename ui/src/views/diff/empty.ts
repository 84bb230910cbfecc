/** Nothing to compare yet: how to get there. */
import { h } from "../../elements/dom";
import { shorten } from "../../elements/format";
import type { App } from "../../shell/app";
import { parseRange, seconds, formatRange, type Range } from "./sides";

export function emptyDiff(app: App): HTMLElement {
  const { state } = app;
  const recording = app.recordings[0]!;
  const whole = recording.meta.duration;
  const now: Range | null =
    state.from === null && state.to === null
      ? null
      : { from: state.from ?? 0, to: state.to ?? whole };
  const half = Math.round(whole / 2);
  const file = shorten(recording.meta.file, 60);
  const put = (side: "base" | "new", range: Range) => () =>
    app.setSetting("diff", side, formatRange(range), true);
  const row = (side: "base" | "new", title: string) => {
    const chosen = parseRange(app.setting("diff", side));
    return h(
      "tr",
      null,
      h("th", null, title),
      h("td", null, chosen ? seconds(chosen) : "not selected"),
      h(
        "td",
        null,
        h(
          "button",
          { disabled: !now, onclick: now ? put(side, now) : undefined },
          now ? `use ${seconds(now)}` : "use the range above",
        ),
      ),
    );
  };
  return h(
    "div",
    { class: "empty diff-empty" },
    h("p", null, "Compare two recordings, or two ranges of one."),
    h(
      "p",
      null,
      "Two recordings: ",
      h("code", null, `sonde view ${file} new.sonde`),
    ),
    h(
      "p",
      null,
      "Two ranges: drag over the strip above or on the timeline, and use the range as one side; then another as the other side.",
    ),
    h("table", null, h("tbody", null, row("base", "base"), row("new", "new"))),
    h(
      "button",
      {
        class: "halves",
        onclick: () =>
          app.set(
            {
              from: null,
              to: null,
              settings: {
                ...state.settings,
                "diff.base": formatRange({ from: 0, to: half }),
                "diff.new": formatRange({ from: half, to: whole + 1 }),
              },
            },
            true,
          ),
      },
      "Compare the first half with the second",
    ),
  );
}
