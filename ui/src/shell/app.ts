/** What the shell gives to the views, and what a view must be. */

import type { Recording } from "../data/recording";
import type { Theme } from "../elements/theme";
import type { Profile, Profiler } from "../profile/profile";
import type { State } from "./state";

export type { State } from "./state";
export type { Theme } from "../elements/theme";

export interface App {
  readonly recordings: Recording[];
  readonly state: State;
  readonly theme: Theme;
  /** Changes the state and renders the view again; `push` makes a step for the back button. */
  set(change: Partial<State>, push?: boolean): void;
  /** A setting that only one view knows; null forgets it. Read it by `setting()`. */
  setSetting(
    view: string,
    key: string,
    value: string | null,
    push?: boolean,
  ): void;
  setting(view: string, key: string): string | null;
  /** The samples that pass the filters, summed; of the first recording by default. */
  profile(which?: number): Promise<Profile>;
  /** Makes profiles of one of the recordings, whatever is chosen above. */
  profiler(which: number): Promise<Profiler>;
  /** Whether this page has a view of that name. */
  shows(view: string): boolean;
  /** Renders the view again: something besides the state has changed. */
  refresh(): void;
  /** Shows something in the bottom band; with `keep` it is what null later brings back. */
  explain(node: HTMLElement | null, keep?: boolean): void;
  /** A link to this page in another state, for `<a href>`: it can be opened in a new tab. */
  link(change: Partial<State>): string;
}

/** What is looked at: one recording, or two to be compared. The page of a store exchanges them. */
export interface Subject {
  readonly recordings: Recording[];
  profiler(which: number): Promise<Profiler>;
}

/** What is on the screen besides the view, and follows the state. */
export interface Part {
  readonly element: HTMLElement;
  update(): void;
}

export interface View {
  readonly id: string;
  readonly title: string;
  /** Pressed after `g`, it opens the view. */
  readonly key: string;
  mount(root: HTMLElement, app: App): MountedView;
}

export interface MountedView {
  /** The state, the theme or the size of the window is another. */
  update(): void;
  destroy(): void;
}
