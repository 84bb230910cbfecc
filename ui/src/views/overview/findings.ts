/** What the rules found, worst first, each with a way to its evidence. */

import { h } from "../../elements/dom";
import { printable, shorten } from "../../elements/format";
import type { App } from "../../shell/app";
import { evidence } from "./evidence";
import { link } from "./link";

interface Finding {
  title: string;
  detail: string;
  share: number;
  view: string;
}

export function findings(app: App): HTMLElement {
  const recording = app.recordings[0];
  const found: Finding[] = recording.meta.summary.findings;
  return h(
    "section",
    { class: "findings" },
    h("h2", null, "Findings"),
    found.length
      ? h(
          "ol",
          null,
          found.map((one) => {
            const there = evidence(recording, one.view, one.title);
            return h(
              "li",
              null,
              h(
                "span",
                { class: "weight", "aria-hidden": "true" },
                h("i", {
                  style: {
                    width: `${Math.max(2, Math.min(100, one.share * 100))}%`,
                  },
                }),
              ),
              h(
                "div",
                null,
                h("strong", null, h("bdi", null, shorten(one.title, 200))),
                there && link(app, there, `show it in ${title(there.view!)}`),
                h("p", null, h("bdi", null, `${shorten(one.detail, 600)}.`)),
                !there && h("code", { class: "faint" }, printable(one.view)),
              ),
            );
          }),
        )
      : h(
          "p",
          { class: "faint" },
          "No findings. The flame graph shows where the time goes.",
        ),
  );
}

function title(view: string): string {
  return (
    {
      flame: "the flame graph",
      sandwich: "the sandwich",
      source: "the source",
    }[view] ?? `the ${view} view`
  );
}
