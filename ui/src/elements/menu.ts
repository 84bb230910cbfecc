/** A menu at a point of the window. */

import { h } from "./dom";

export interface MenuItem {
  readonly label: string;
  readonly disabled?: boolean;
  run(): void;
}

export function openMenu(
  items: readonly MenuItem[],
  x: number,
  y: number,
  label: string,
): void {
  const before = document.activeElement as HTMLElement | null;
  const close = (): void => {
    if (!menu.isConnected) return;
    menu.remove();
    document.removeEventListener("pointerdown", outside, true);
    window.removeEventListener("blur", close);
  };
  const outside = (event: Event) => {
    if (!menu.contains(event.target as Node)) close();
  };
  const buttons = items.map((item) =>
    h(
      "button",
      {
        role: "menuitem",
        disabled: item.disabled,
        onclick: () => {
          close();
          before?.focus();
          item.run();
        },
      },
      item.label,
    ),
  );
  const menu = h(
    "div",
    { class: "menu", role: "menu", "aria-label": label },
    buttons,
  );
  menu.addEventListener("keydown", (event) => {
    const enabled = buttons.filter((button) => !button.disabled);
    const at = enabled.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "Escape") {
      close();
      before?.focus();
    } else if (event.key === "ArrowDown")
      enabled[(at + 1) % enabled.length].focus();
    else if (event.key === "ArrowUp") enabled.at(at - 1)?.focus();
    else if (event.key === "Tab") close();
    else return;
    event.stopPropagation();
    event.preventDefault();
  });
  document.body.append(menu);
  const size = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(4, Math.min(x, innerWidth - size.width - 4))}px`;
  menu.style.top = `${Math.max(4, Math.min(y, innerHeight - size.height - 4))}px`;
  document.addEventListener("pointerdown", outside, true);
  window.addEventListener("blur", close);
  buttons.find((button) => !button.disabled)?.focus();
}
