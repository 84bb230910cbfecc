/** From a function to where else it can be looked at; the same everywhere on the page. */

import type { App, State } from "./app";

/** The state in which the source view shows this line. */
export function sourceAt(app: App, file: string, line: number): Partial<State> {
  return {
    view: "source",
    own: { ...app.state.own, "source.file": file, "source.line": String(line) },
  };
}

/** The state in which the sandwich view shows this function. */
export function sandwichOf(app: App, fn: number): Partial<State> {
  return {
    view: "sandwich",
    own: { ...app.state.own, "sandwich.fn": String(fn) },
  };
}

/** The state in which only stacks through this function count. */
export function focusOn(app: App, fn: number): Partial<State> {
  const focus = [...app.state.focus.filter((other) => other !== fn), fn];
  return { focus, own: without(app.state.own, "flame.zoom") };
}

/** The state in which what this function took is left out. */
export function hidden(app: App, fn: number): Partial<State> {
  const hide = [...app.state.hide.filter((other) => other !== fn), fn];
  return { hide, own: without(app.state.own, "flame.zoom") };
}

/** The state in which calls of this function below itself are drawn as one. */
export function collapsed(app: App, fn: number): Partial<State> {
  const collapse = [...app.state.collapse.filter((other) => other !== fn), fn];
  return { collapse, own: without(app.state.own, "flame.zoom") };
}

/** Frames are numbered anew when the tree has another shape. */
export function without(own: State["own"], ...keys: string[]): State["own"] {
  return Object.fromEntries(
    Object.entries(own).filter(([key]) => !keys.includes(key)),
  );
}
