/** How far the recording can be trusted, in plain words. */

import type { Meta } from "../../data/recording";
import { h } from "../../elements/dom";
import {
  count,
  duration,
  percent,
  shorten,
  thousands,
} from "../../elements/format";

interface Problem {
  title: string;
  detail: string;
  advice: string;
}

export function quality(meta: Meta): HTMLElement {
  const facts = meta.quality;
  const problems: Problem[] = facts.problems ?? [];
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
            h("strong", null, shorten(problem.title, 200)),
            `: ${shorten(problem.detail, 600)}. `,
            h("span", { class: "faint" }, `Advice: ${problem.advice}.`),
          ),
        ),
      ),
    h(
      "dl",
      null,
      factRows(meta).map(([name, text]) => [
        h("dt", null, name),
        h("dd", null, text),
      ]),
    ),
  );
}

function factRows(meta: Meta): [string, string][] {
  const facts = meta.quality;
  const found: [string, string][] = [["Sampler", sampler(facts)]];
  found.push([
    "Samples",
    [
      `${count(facts.taken ?? 0, "sample")} taken`,
      ...["lost", "undecodable", "truncated"]
        .filter((key) => typeof facts[key] === "number")
        .map((key) => `${thousands(facts[key])} ${key}`),
    ].join(", "),
  ]);
  const { rate_asked: asked, rate_achieved: achieved } = facts;
  if (typeof achieved === "number") {
    found.push([
      "Rate",
      `${thousands(achieved)} samples per second of CPU time` +
        (asked ? `, ${thousands(asked)} requested` : ""),
    ]);
  }
  found.push(...objectRows(facts));
  const ran = facts.running_samples;
  if (ran) {
    found.push([
      "Precision",
      `±${percent(2 * standardError(0.5, ran))} for a share of 50 %, ` +
        `±${percent(2 * standardError(0.05, ran))} for 5 % (95 % confidence)`,
    ]);
  }
  if (typeof facts.agent_cpu_ns === "number") {
    const cost =
      typeof facts.cost === "number"
        ? `, ${percent(facts.cost, 2)} of the sampled time`
        : "";
    found.push([
      "Overhead",
      `${duration(facts.agent_cpu_ns)} of CPU time${cost}`,
    ]);
  }
  if (typeof facts.events_lost === "number")
    found.push(["Events lost", thousands(facts.events_lost)]);
  if (facts.clock) found.push(["Clock", shorten(String(facts.clock), 200)]);
  found.push(["File", shorten(meta.file, 200)]);
  return found;
}

/** Of the samples of objects; recordings of former versions have none of these counts. */
export function objectRows(facts: any): [string, string][] {
  if (typeof facts.objects_at_least !== "number") return [];
  const parts = [
    `${count(facts.objects_taken, "sample")} taken`,
    `${thousands(facts.objects_lost ?? 0)} lost`,
    `${thousands(facts.objects_without_type)} without a class`,
    `${count(facts.object_ends_lost, "end")} lost`,
  ];
  if (facts.objects_not_followed)
    parts.push(
      `${thousands(facts.objects_not_followed)} not followed to their end`,
    );
  const cost =
    typeof facts.object_cost === "number"
      ? `; sampling took ${duration(facts.object_agent_ns)}, ` +
        `${percent(facts.object_cost, 2)} of the CPU time`
      : "";
  const found: [string, string][] = [["Objects", parts.join(", ") + cost]];
  if (facts.objects_at_least)
    found.push([
      "Lower bounds",
      `${count(facts.objects_at_least, "object sample")} of ` +
        `${shorten(facts.object_types_at_least.join(", "), 400)}: ` +
        "free lists hide some of their allocations",
    ]);
  return found;
}

function sampler(facts: any): string {
  const name = shorten(String(facts.sampler ?? "unknown"), 200);
  const why = Array.isArray(facts.why_not_better)
    ? facts.why_not_better.join("; ")
    : facts.why_not_better;
  return why
    ? `${name}, no better one because ${shorten(String(why), 400)}`
    : name;
}

/** Of a share estimated from so many samples, each of which hit it or not. */
function standardError(share: number, samples: number): number {
  return samples > 0 ? Math.sqrt((share * (1 - share)) / samples) : 1;
}
