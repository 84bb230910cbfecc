/** What of the store is chosen, what was asked for it, and what came back. */

import type { App, Subject } from "../shell/app";
import { withoutSettings } from "../shell/links";
import type { Heat } from "./heatgrid";
import {
  heat,
  profilerOf,
  tree,
  type StoreMeta,
  type SummedTree,
} from "./load";
import {
  parseSelection,
  withLabel,
  pickCell,
  queryOf,
  formatSelection,
  type Cell,
  type StoreSelection,
  type Value,
} from "./selection";
import { shortTitle, selectionTitle } from "./titles";

const MAX_TREES = 12;

export class StoreController {
  heat: Heat | null = null;
  /** An answer is awaited. */
  busy = false;
  subject: Subject = { recordings: [], profiler: () => new Promise(() => {}) };
  private app: App | null = null;
  private heatKey = "";
  private treeKey = "";
  private readonly trees = new Map<string, Promise<SummedTree>>();

  constructor(readonly meta: StoreMeta) {}

  get selection(): StoreSelection {
    return parseSelection(this.app!.state.settings, this.first);
  }

  /** The label of the rows by default: hosts differ most often. */
  private get first(): string {
    const labels = this.meta.labels;
    const many = labels.find(
      ({ label, values }) => label === "service" && values.length > 1,
    );
    return (many ?? labels.find(({ label }) => label === "host") ?? labels[0])
      ?.label;
  }

  pick(at: Cell, alone = false): void {
    const next = pickCell(this.selection, at, alone);
    this.set(next, next.b ? "diff" : "flame");
  }

  /** No cell. */
  clearCells(): void {
    this.set({ ...this.selection, a: null, b: null }, "flame");
  }

  range(to: Pick<StoreSelection, "from" | "to">): void {
    this.set({ ...this.selection, ...to });
  }

  by(label: string): void {
    this.set({ ...this.selection, by: label });
  }

  only(label: string, value: Value): void {
    const { where } = this.selection;
    const known = where.find(([name]) => name === label)?.[1];
    const again = known?.length === 1 && known[0] === value;
    this.choose(label, again ? null : [value]);
  }

  choose(label: string, values: readonly Value[] | null): void {
    const selection = this.selection;
    this.set({
      ...selection,
      where: withLabel(selection.where, label, values),
    });
  }

  private set(next: StoreSelection, view?: string): void {
    const app = this.app!;
    const settings = formatSelection(next, app.state.settings, this.first);
    app.set(
      {
        // Functions and frames are numbered within what is looked at.
        settings: withoutSettings(
          settings,
          "flame.zoom",
          "diff.zoom",
          "sandwich.fn",
        ),
        focus: [],
        hide: [],
        collapse: [],
        ...(view && view !== app.state.view && this.leaves(view)
          ? { view }
          : {}),
      },
      true,
    );
  }

  /** Two cells are compared; one is shown in the view that is open, if that is of one. */
  private leaves(view: string): boolean {
    return view === "diff" || this.app!.state.view === "diff";
  }

  /** Requests what the state needs and is not there yet. */
  follow(app: App): void {
    this.app = app;
    const { selection } = this;
    const asked = {
      ...queryOf(selection, null),
      by: selection.by,
      time: app.state.time,
    };
    const heatKey = JSON.stringify(asked);
    if (heatKey !== this.heatKey) {
      this.heatKey = heatKey;
      this.await(
        heat(asked),
        () => heatKey === this.heatKey,
        (found) => (this.heat = found),
      );
    }
    const wanted = selection.b ? [selection.a, selection.b] : [selection.a];
    const questions = wanted.map((at) => queryOf(selection, at));
    const treeKey = JSON.stringify(questions);
    if (treeKey !== this.treeKey) {
      this.treeKey = treeKey;
      const titles = wanted.map((at) =>
        at ? shortTitle(at) : selectionTitle(selection),
      );
      this.await(
        Promise.all(questions.map((one, i) => this.tree(one, titles[i]))),
        () => treeKey === this.treeKey,
        (found) => (this.subject = subjectOf(found)),
      );
    }
  }

  private await<T>(
    asked: Promise<T>,
    wanted: () => boolean,
    take: (found: T) => void,
  ): void {
    this.pending++;
    this.busy = true;
    asked
      .then((found) => wanted() && take(found))
      .finally(() => {
        this.busy = --this.pending > 0;
        this.app!.refresh();
      });
  }

  private pending = 0;

  /** Those looked at last are kept: going back and forth requests nothing. */
  private tree(asked: object, title: string): Promise<SummedTree> {
    const key = JSON.stringify(asked);
    const known = this.trees.get(key);
    this.trees.delete(key);
    const found = known ?? tree(asked, title);
    this.trees.set(key, found);
    // What went wrong may go well the next time.
    found.catch(() => this.trees.delete(key));
    const [oldest] = this.trees.keys();
    if (this.trees.size > MAX_TREES) this.trees.delete(oldest);
    return found;
  }
}

function subjectOf(found: readonly SummedTree[]): Subject {
  const profilers = found.map((one) => Promise.resolve(profilerOf(one)));
  return {
    recordings: found.map((one) => one.recording),
    profiler: (which) => profilers[which],
  };
}
