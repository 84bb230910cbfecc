/** From a function to where else it can be looked at; the same everywhere on the page. */

import type { App, State } from "./app";

/** The state in which the source view shows this line. */
export function sourceAt(app: App, file: string, line: number): Partial<State> {
  return {
    view: "source",
    settings: {
      ...app.state.settings,
      "source.file": file,
      "source.line": String(line),
    },
  };
}

/** The state in which the sandwich view shows this function. */
export function sandwichFor(app: App, fn: number): Partial<State> {
  return {
    view: "sandwich",
    settings: { ...app.state.settings, "sandwich.fn": String(fn) },
  };
}

/** The state in which only stacks through this function count. */
export function focusOn(app: App, fn: number): Partial<State> {
  const focus = [...app.state.focus.filter((other) => other !== fn), fn];
  return { focus, settings: withoutSettings(app.state.settings, "flame.zoom") };
}

/** The state in which the time of this function is left out. */
export function hideFunction(app: App, fn: number): Partial<State> {
  const hide = [...app.state.hide.filter((other) => other !== fn), fn];
  return { hide, settings: withoutSettings(app.state.settings, "flame.zoom") };
}

/** The state in which calls of this function below itself are drawn as one. */
export function collapseRecursion(app: App, fn: number): Partial<State> {
  const collapse = [...app.state.collapse.filter((other) => other !== fn), fn];
  return {
    collapse,
    settings: withoutSettings(app.state.settings, "flame.zoom"),
  };
}

/** Frames have other numbers when the tree has another shape. */
export function withoutSettings(
  settings: State["settings"],
  ...keys: string[]
): State["settings"] {
  return Object.fromEntries(
    Object.entries(settings).filter(([key]) => !keys.includes(key)),
  );
}
