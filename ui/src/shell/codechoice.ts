/** The choice between all code and the program's own. */

import { h } from "../elements/dom";
import { hasOwnCode } from "../profile/owncode";
import type { Profile } from "../profile/profile";
import type { App } from "./app";

/** Nothing where the recording does not say whose code it is. */
export function codeChoice(app: App, profile: Profile): HTMLElement | false {
  const pick = (label: string, mine: boolean, title: string) =>
    h(
      "button",
      {
        class: "segment",
        "aria-pressed": String(app.state.mine === mine),
        onclick: () => choose(app, mine),
        title,
      },
      label,
    );
  return (
    hasOwnCode(profile.functions) &&
    h(
      "span",
      { class: "segments", role: "group", "aria-label": "Code" },
      pick("all code", false, "All functions, of libraries, too"),
      pick(
        "my code",
        true,
        "Your functions; the time of a library is below the one that called it",
      ),
    )
  );
}

function choose(app: App, mine: boolean): void {
  // Frames have other numbers now: the zoomed one would be another.
  const settings: Record<string, string> = { ...app.state.settings };
  delete settings["flame.zoom"];
  delete settings["memory.zoom"];
  app.set({ mine, settings }, true);
}
