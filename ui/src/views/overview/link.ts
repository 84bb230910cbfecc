/** A link within the page; with a modifier key the browser opens it elsewhere, as any link. */

import { h } from "../../elements/dom";
import type { App, State } from "../../shell/app";

export function link(
  app: App,
  change: Partial<State>,
  text: string,
): HTMLElement {
  const merged = {
    ...change,
    settings: { ...app.state.settings, ...change.settings },
  };
  return h(
    "a",
    {
      href: app.link(merged),
      onclick: (event: MouseEvent) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        app.set(merged, true);
      },
    },
    text,
  );
}
