/** A button that opens a panel below itself; Esc or a click elsewhere closes it. */

import { fill, h } from "./dom";

export interface Popover {
  readonly element: HTMLElement;
  label(text: string, active: boolean): void;
  close(): void;
}

export function popover(
  name: string,
  content: (close: () => void) => HTMLElement,
): Popover {
  const button = h("button", {
    class: "choose",
    "aria-haspopup": "dialog",
    "aria-expanded": "false",
    onclick: () => (panel.hidden ? open() : close()),
  });
  const panel = h("div", {
    class: "panel",
    role: "dialog",
    "aria-label": name,
  });
  panel.hidden = true;
  const element = h("div", { class: "popover" }, button, panel);

  const outside = (event: Event) => {
    if (!element.contains(event.target as Node)) close();
  };
  function open(): void {
    fill(panel, content(close));
    panel.hidden = false;
    button.setAttribute("aria-expanded", "true");
    document.addEventListener("pointerdown", outside);
    panel
      .querySelector<HTMLElement>("input, button, select")
      ?.focus({ preventScroll: true });
  }
  function close(): void {
    if (panel.hidden) return;
    panel.hidden = true;
    fill(panel);
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside);
  }
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    close();
    button.focus();
    event.stopPropagation();
  });
  return {
    element,
    close,
    label(text, active) {
      fill(button, h("span", { class: "faint" }, `${name}: `), text, " ▾");
      button.classList.toggle("active", active);
    },
  };
}
