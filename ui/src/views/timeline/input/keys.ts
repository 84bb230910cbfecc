/** Keys on the timeline, turned into what they mean. */

export interface KeyActions {
  /** By a share of the window. */
  pan(share: number): void;
  zoom(factor: number): void;
  all(): void;
  /** To the lane above or below. */
  lane(by: number): void;
  showDetail(): void;
  /** To the next wait of the lane, or the one before. */
  step(by: 1 | -1): void;
  /** False: nothing was held. */
  clearSelection(): boolean;
}

const ZOOM_STEP = 0.7;

/** Whether the key meant something here. */
export function handleKey(event: KeyboardEvent, actions: KeyActions): boolean {
  const share = event.shiftKey ? 0.5 : 0.1;
  const meanings: Record<string, () => boolean | void> = {
    ArrowLeft: () => actions.pan(-share),
    ArrowRight: () => actions.pan(share),
    ArrowUp: () => actions.lane(-1),
    ArrowDown: () => actions.lane(1),
    "+": () => actions.zoom(ZOOM_STEP),
    "=": () => actions.zoom(ZOOM_STEP),
    "-": () => actions.zoom(1 / ZOOM_STEP),
    "0": () => actions.all(),
    Enter: () => actions.showDetail(),
    n: () => actions.step(1),
    p: () => actions.step(-1),
    Escape: () => actions.clearSelection(),
  };
  const meaning = Object.hasOwn(meanings, event.key)
    ? meanings[event.key]
    : undefined;
  return meaning ? meaning() !== false : false;
}
