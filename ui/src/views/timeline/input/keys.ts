/** Keys on the timeline, turned into what they mean. */

export interface Actions {
  /** By a share of the window. */
  pan(share: number): void;
  zoom(factor: number): void;
  all(): void;
  /** To the lane above or below. */
  lane(by: number): void;
  tell(): void;
  /** To the next wait of the lane, or the one before. */
  step(by: 1 | -1): void;
  /** False: nothing was held. */
  letGo(): boolean;
}

const CLOSER = 0.7;

/** Whether the key meant something here. */
export function act(event: KeyboardEvent, actions: Actions): boolean {
  const share = event.shiftKey ? 0.5 : 0.1;
  const meanings: Record<string, () => boolean | void> = {
    ArrowLeft: () => actions.pan(-share),
    ArrowRight: () => actions.pan(share),
    ArrowUp: () => actions.lane(-1),
    ArrowDown: () => actions.lane(1),
    "+": () => actions.zoom(CLOSER),
    "=": () => actions.zoom(CLOSER),
    "-": () => actions.zoom(1 / CLOSER),
    "0": () => actions.all(),
    Enter: () => actions.tell(),
    n: () => actions.step(1),
    p: () => actions.step(-1),
    Escape: () => actions.letGo(),
  };
  const meaning = Object.hasOwn(meanings, event.key)
    ? meanings[event.key]
    : undefined;
  return meaning ? meaning() !== false : false;
}
