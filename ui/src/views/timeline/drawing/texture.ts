/**
 * Lanes as pixels: states by colour and by texture, so that they can be distinguished without
 * colours. Written directly into the image: tens of thousands of small fills would take longer.
 */
import type { ColourName, Theme } from "../../../elements/theme";
import {
  GIL,
  LOCK,
  RUNNABLE,
  OTHER,
  RUN,
  NOTIFICATION,
  STATES,
} from "../lanes/lane";

export const COLOURS: readonly ColourName[] = [
  "running",
  "gil",
  "lock",
  "io",
  "io",
  "off",
];

/** Side of the square that a texture repeats in, in CSS pixels; the period of every pattern. */
const SIDE = 8;

export interface Textures {
  side: number;
  /** By state, row and column of the square: a pixel as ImageData has it. */
  pixels: Uint32Array[];
}

/** Whether the pattern of a state has ink at a place. */
export function hasInk(state: number, x: number, y: number): boolean {
  const sum = (x + y) % SIDE;
  const difference = (x - y + SIDE) % SIDE;
  switch (state) {
    case RUN:
    case RUNNABLE:
      return true;
    case GIL:
      return sum % 4 < 2;
    case LOCK:
      return sum < 1.5 || difference < 1.5;
    case NOTIFICATION:
      return y % 4 < 1;
    case OTHER:
      return x % 4 < 1.5 && y % 4 < 1.5;
    default:
      return false;
  }
}

export function textures(theme: Theme, ratio: number): Textures {
  const side = Math.max(Math.round(SIDE * ratio), SIDE);
  const ground = rgb(theme.colour("ground"));
  const pixels = COLOURS.map((name, state) => {
    const ink = rgb(theme.colour(name));
    const pale = ink.map((part, i) =>
      Math.round(part * 0.28 + ground[i]! * 0.72),
    );
    const square = new Uint32Array(side * side);
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        const has = hasInk(state, (x * SIDE) / side, (y * SIDE) / side);
        square[y * side + x] = packPixel(has ? ink : pale);
      }
    }
    return square;
  });
  return { side, pixels };
}

/**
 * Paints one lane at the given row of the image, states from the bottom up, each as high as its
 * share of the column.
 */
export function paint(
  picture: { data: Uint32Array; width: number; height: number },
  look: Textures,
  shares: Float32Array,
  top: number,
  height: number,
): void {
  const { data, width } = picture;
  const { side, pixels } = look;
  const bottom = top + height;
  const first = Math.max(top, 0);
  const last = Math.min(bottom, picture.height);
  // Where the line of the texture begins for each row: the innermost loop only adds.
  const line = new Int32Array(Math.max(last, 0));
  for (let y = first; y < last; y++) line[y] = (y % side) * side;
  for (let x = 0, column = 0, at = 0; x < width; x++, at += STATES) {
    let share = 0;
    let below = bottom;
    for (let state = 0; state < STATES; state++) {
      const part = shares[at + state]!;
      if (part <= 0) continue;
      share += part;
      const edge = bottom - Math.round(Math.min(share, 1) * height);
      const square = pixels[state]!;
      const end = Math.max(edge, first);
      let y = Math.min(below, last) - 1;
      for (let pixel = y * width + x; y >= end; y--, pixel -= width) {
        data[pixel] = square[line[y]! + column]!;
      }
      below = edge;
    }
    if (++column === side) column = 0;
  }
}

export function rgb(hex: string): number[] {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

export function packPixel([red, green, blue]: number[]): number {
  // ImageData is red, green, blue, alpha; browsers run on machines that store the lowest byte first.
  return ((255 << 24) | (blue! << 16) | (green! << 8) | red!) >>> 0;
}
