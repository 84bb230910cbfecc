/** The states with their colours and textures. */
import { h } from "../../elements/dom";
import type { Theme } from "../../elements/theme";
import { textures } from "./drawing/texture";
import { GIL, LOCK, RUNNABLE, OTHER, RUN, NOTIFICATION } from "./lanes/lane";

const NAMES: readonly (readonly [number, string])[] = [
  [RUN, "on CPU"],
  [GIL, "waiting for the GIL"],
  [LOCK, "for a lock"],
  [NOTIFICATION, "for a notification"],
  [OTHER, "sleep, I/O"],
  [RUNNABLE, "runnable"],
];

const WIDTH = 26;
const HEIGHT = 14;

/** The same of lanes of tasks. */
const TASK_NAMES = new Map([
  [RUN, "task: running"],
  [OTHER, "task: suspended"],
  [RUNNABLE, "task: ready"],
]);

export function legend(
  theme: Theme,
  cpuLoss: boolean,
  tasks: boolean,
): HTMLElement {
  const ratio = window.devicePixelRatio || 1;
  const look = textures(theme, ratio);
  const [width, height] = [
    Math.round(WIDTH * ratio),
    Math.round(HEIGHT * ratio),
  ];
  return h(
    "div",
    { class: "states" },
    NAMES.map(([state, name]) => {
      const canvas = h("canvas", {
        width,
        height,
        "aria-hidden": "true",
        style: { width: `${WIDTH}px`, height: `${HEIGHT}px` },
      });
      const context = canvas.getContext("2d");
      if (context) {
        const image = new ImageData(width, height);
        const data = new Uint32Array(image.data.buffer);
        for (let i = 0; i < data.length; i++) {
          const [x, y] = [i % width, Math.floor(i / width)];
          data[i] =
            look.pixels[state]![(y % look.side) * look.side + (x % look.side)]!;
        }
        context.putImageData(image, 0, 0);
      }
      const task = tasks && TASK_NAMES.get(state);
      return h(
        "span",
        { class: "item" },
        canvas,
        task ? `${name}; ${task}` : name,
      );
    }),
    h(
      "span",
      { class: "item" },
      h("span", {
        class: "swatch",
        style: { background: theme.colour("raised") },
        "aria-hidden": "true",
      }),
      "unknown",
    ),
    cpuLoss
      ? h(
          "span",
          { class: "item" },
          h("span", {
            class: "swatch strip",
            style: { background: theme.colour("slower") },
            "aria-hidden": "true",
          }),
          "run-queue latency, throttling, steal",
        )
      : null,
  );
}
