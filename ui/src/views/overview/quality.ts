/** How far the recording can be trusted, in plain words. */

import type { Meta } from "../../data/recording";
import { h } from "../../elements/dom";
import {
  count,
  duration,
  percent,
  shortened,
  thousands,
} from "../../elements/format";

interface Problem {
  title: string;
  detail: string;
  advice: string;
}

export function quality(meta: Meta): HTMLElement {
  const told = meta.quality;
  const problems: Problem[] = told.problems ?? [];
  return h(
    "section",
    { class: "card quality" },
    h("h2", null, problems.length ? "Problems" : "No problems found"),
    problems.length > 0 &&
      h(
        "ul",
        null,
        problems.map((problem) =>
          h(
            "li",
            null,
            h("strong", null, shortened(problem.title, 200)),
            `: ${shortened(problem.detail, 600)}. `,
            h("span", { class: "faint" }, `Advice: ${problem.advice}.`),
          ),
        ),
      ),
    h(
      "dl",
      null,
      facts(meta).map(([name, text]) => [
        h("dt", null, name),
        h("dd", null, text),
      ]),
    ),
  );
}

function facts(meta: Meta): [string, string][] {
  const told = meta.quality;
  const found: [string, string][] = [["Sampler", sampler(told)]];
  found.push([
    "Samples",
    [
      `${count(told.taken ?? 0, "sample")} taken`,
      ...["lost", "undecodable", "truncated"]
        .filter((key) => typeof told[key] === "number")
        .map((key) => `${thousands(told[key])} ${key}`),
    ].join(", "),
  ]);
  const { rate_asked: asked, rate_achieved: achieved } = told;
  if (typeof achieved === "number") {
    found.push([
      "Rate",
      `${thousands(achieved)} samples per second of CPU time` +
        (asked ? `, ${thousands(asked)} requested` : ""),
    ]);
  }
  const ran = told.running_samples;
  if (ran) {
    found.push([
      "Precision",
      `±${percent(2 * standardError(0.5, ran))} for a share of 50 %, ` +
        `±${percent(2 * standardError(0.05, ran))} for 5 % (95 % confidence)`,
    ]);
  }
  if (typeof told.agent_cpu_ns === "number") {
    const cost =
      typeof told.cost === "number"
        ? `, ${percent(told.cost, 2)} of the sampled time`
        : "";
    found.push([
      "Overhead",
      `${duration(told.agent_cpu_ns)} of CPU time${cost}`,
    ]);
  }
  if (typeof told.events_lost === "number")
    found.push(["Events lost", thousands(told.events_lost)]);
  if (told.clock) found.push(["Clock", shortened(String(told.clock), 200)]);
  found.push(["File", shortened(meta.file, 200)]);
  return found;
}

function sampler(told: any): string {
  const name = shortened(String(told.sampler ?? "unknown"), 200);
  const why = Array.isArray(told.why_not_better)
    ? told.why_not_better.join("; ")
    : told.why_not_better;
  return why
    ? `${name}, no better one because ${shortened(String(why), 400)}`
    : name;
}

/** Of a share estimated from so many samples, each of which hit it or not. */
function standardError(share: number, samples: number): number {
  return samples > 0 ? Math.sqrt((share * (1 - share)) / samples) : 1;
}
