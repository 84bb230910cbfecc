/** The aspects as chips: dragged into any order, or moved by keys. */
import { ASPECTS, type Aspect } from "../../data/recording";
import { fill, h } from "../../elements/dom";
import { MEANINGS, TITLES } from "./labels";

export interface Chips {
  readonly element: HTMLElement;
  show(order: readonly Aspect[]): void;
}

/** The order with an aspect put to a place; null takes it out. */
export function moveAspect(
  order: readonly Aspect[],
  aspect: Aspect,
  place: number | null,
): Aspect[] {
  const rest = order.filter((other) => other !== aspect);
  if (place === null) return rest.length ? rest : [...order];
  const at = Math.min(Math.max(place, 0), rest.length);
  return [...rest.slice(0, at), aspect, ...rest.slice(at)];
}

export function chips(changed: (order: Aspect[]) => void): Chips {
  let order: readonly Aspect[] = [];
  let dragged: Aspect | null = null;
  /** The chip that was moved last: it keeps the focus when all are drawn again. */
  let focused: Aspect | null = null;
  const used = h("ol", { class: "aspects used", "aria-label": "Group by" });
  const spare = h("ul", { class: "aspects spare", "aria-label": "Not used" });
  const element = h(
    "section",
    { class: "aspect-panel" },
    h("h2", null, "Group by, in this order"),
    used,
    h("h2", null, "Not used"),
    spare,
    h(
      "p",
      { class: "faint hint" },
      "Drag to reorder. Keys: ",
      h("kbd", null, "↑"),
      " ",
      h("kbd", null, "↓"),
      " move, ",
      h("kbd", null, "Del"),
      " removes, ",
      h("kbd", null, "Enter"),
      " adds.",
    ),
  );

  function move(aspect: Aspect, place: number | null): void {
    const next = moveAspect(order, aspect, place);
    if (next.join() === order.join()) return;
    focused = aspect;
    changed(next);
  }

  /** Before which chip something held at this height would fall. */
  function placeAt(y: number): number {
    const chips = [...used.children] as HTMLElement[];
    const found = chips.findIndex((chip) => {
      const box = chip.getBoundingClientRect();
      return y < box.top + box.height / 2;
    });
    return found < 0 ? chips.length : found;
  }

  function mark(place: number | null): void {
    [...used.children].forEach((chip, i) => {
      chip.classList.toggle("before", i === place);
      chip.classList.toggle(
        "after",
        place === used.children.length && i === place - 1,
      );
    });
  }

  used.addEventListener("dragover", (event) => {
    if (!dragged) return;
    event.preventDefault();
    mark(placeAt(event.clientY));
  });
  used.addEventListener("dragleave", () => mark(null));
  used.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!dragged) return;
    const place = placeAt(event.clientY);
    const at = order.indexOf(dragged);
    // The chip leaves its own place first, so those after it move up by one.
    move(dragged, at >= 0 && at < place ? place - 1 : place);
  });
  spare.addEventListener("dragover", (event) => {
    if (dragged) event.preventDefault();
  });
  spare.addEventListener("drop", (event) => {
    event.preventDefault();
    if (dragged) move(dragged, null);
  });

  function chip(aspect: Aspect, at: number | null): HTMLElement {
    const title = TITLES[aspect];
    return h(
      "li",
      {
        class: `aspect ${aspect.split("_")[0]!}`,
        draggable: "true",
        title: MEANINGS[aspect],
        "data-aspect": aspect,
        ondragstart: (event: DragEvent) => {
          dragged = aspect;
          event.dataTransfer?.setData("text/plain", aspect);
          if (event.dataTransfer) event.dataTransfer.effectAllowed = "move";
        },
        ondragend: () => {
          dragged = null;
          mark(null);
        },
      },
      at === null ? null : h("span", { class: "faint" }, `${at + 1}`),
      h(
        "button",
        {
          class: "grip",
          "aria-label":
            at === null
              ? `Group by ${title}, too`
              : `${title}, number ${at + 1} of ${order.length}: arrow keys move it`,
          onclick: () => at === null && move(aspect, order.length),
          onkeydown: (event: KeyboardEvent) => {
            if (at === null) return;
            if (event.key === "ArrowUp") move(aspect, at - 1);
            else if (event.key === "ArrowDown") move(aspect, at + 1);
            else if (event.key === "Delete" || event.key === "Backspace")
              move(aspect, null);
            else return;
            event.preventDefault();
            event.stopPropagation();
          },
        },
        title,
      ),
      at === null
        ? h(
            "button",
            {
              class: "quiet",
              tabindex: "-1",
              "aria-hidden": "true",
              onclick: () => move(aspect, order.length),
            },
            "+",
          )
        : h(
            "button",
            {
              class: "quiet",
              "aria-label": `Do not group by ${title}`,
              disabled: order.length === 1,
              onclick: () => move(aspect, null),
            },
            "×",
          ),
    );
  }

  return {
    element,
    show(next) {
      if (next.join() === order.join() && used.children.length) return;
      order = next;
      fill(
        used,
        order.map((aspect, i) => chip(aspect, i)),
      );
      const left = ASPECTS.filter((aspect) => !order.includes(aspect));
      fill(
        spare,
        left.map((aspect) => chip(aspect, null)),
      );
      if (focused) {
        element
          .querySelector<HTMLElement>(`[data-aspect="${focused}"] .grip`)
          ?.focus();
      }
      focused = null;
    },
  };
}
