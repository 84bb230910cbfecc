/** What keeps an object, or the objects of a type, alive: beside the view it was chosen in. */

import { fill, h, type Child } from "../elements/dom";
import { amount, count, displayName, sourceLocation } from "../elements/format";
import type {
  AllocationRow,
  Heap,
  HeapPath,
  HeapPaths,
  PathStep,
} from "./load";
import { objectName, reference, rootName } from "./words";

export class PathPanel {
  readonly element = h("section", {
    class: "paths",
    "aria-label": "Paths",
    tabindex: "0",
  });
  private target: string | null = null;

  constructor(
    private readonly heap: Heap,
    private readonly choose: (target: string) => void,
  ) {}

  show(target: string | null): void {
    if (target === this.target && this.element.hasChildNodes()) return;
    this.target = target;
    if (target === null) {
      this.say(
        "Choose a type or an object: its paths from the roots are here.",
      );
      return;
    }
    this.say(`Looking for what keeps ${displayName(target)} alive …`);
    this.heap.paths(target).then(
      (paths) => {
        if (this.target === target) this.draw(paths);
      },
      (error: unknown) => {
        if (this.target === target)
          this.say(error instanceof Error ? error.message : String(error));
      },
    );
  }

  private say(words: string): void {
    fill(this.element, h("p", { class: "faint", role: "status" }, words));
  }

  private draw(found: HeapPaths): void {
    const several = found.objects !== 1;
    const subject = several
      ? `${count(found.objects, "object")} of ${displayName(found.target)}`
      : displayName(found.target);
    fill(
      this.element,
      h(
        "h2",
        null,
        `${subject} ${several ? "keep" : "keeps"} ${amount(found.retained)} alive`,
      ),
      !found.paths.length &&
        h("p", null, "No root leads there: it is garbage."),
      found.paths.map((path) =>
        this.path(
          path,
          several &&
            `${count(path.count, "object")}, ${amount(path.retained)}, held by`,
        ),
      ),
      found.heaviest &&
        this.path(
          found.heaviest,
          `Heaviest path to ${several ? "the largest of them" : "it"}, over what retains the most:`,
        ),
      found.allocations && allocations(found.allocations),
    );
    this.element.scrollTop = 0;
  }

  private path(path: HeapPath, heading: string | false): HTMLElement {
    return h(
      "div",
      { class: "path" },
      heading && h("h3", null, heading),
      h("p", { class: "root" }, rootName(path)),
      h(
        "ol",
        null,
        path.steps.map((step, at) => h("li", null, this.step(step, at > 0))),
      ),
    );
  }

  private step(step: PathStep, refers: boolean): Child[] {
    return [
      refers && h("span", { class: "faint code" }, `${reference(step)} `),
      h(
        "button",
        {
          class: "quiet",
          title: `${step.id}: show what keeps this object alive`,
          onclick: () => this.choose(step.id),
        },
        h("bdi", null, objectName(step.type, step.text)),
      ),
    ];
  }
}

function allocations(
  found: NonNullable<HeapPaths["allocations"]>,
): HTMLElement {
  if (!found.sampled)
    return h(
      "p",
      { class: "faint" },
      `None of what they keep alive was sampled in ${displayName(found.recording)}.`,
    );
  return h(
    "section",
    { class: "allocations" },
    h(
      "h3",
      null,
      `What they keep alive was allocated in (${count(found.sampled, "sample")}):`,
    ),
    found.rows.map(allocation),
  );
}

function allocation(row: AllocationRow): HTMLElement {
  return h(
    "details",
    { open: true },
    h(
      "summary",
      null,
      `${amount(row.estimated_bytes)} ± ${amount(row.margin_bytes)} `,
      h("bdi", null, displayName(row.type)),
    ),
    row.context === null
      ? h("p", { class: "faint" }, "an unknown location")
      : h(
          "ol",
          null,
          // Innermost first: what allocated is what one looks for.
          [...row.context]
            .reverse()
            .map((frame) =>
              h(
                "li",
                null,
                h("bdi", { class: "code" }, displayName(frame.name)),
                h(
                  "span",
                  { class: "faint" },
                  ` ${sourceLocation(frame.file, frame.line)}`,
                ),
              ),
            ),
        ),
  );
}
