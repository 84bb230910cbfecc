/** How much of each column of pixels a thread spent in which state. */
import { firstAfter, STATES, type Lane } from "../lanes/lane";

/**
 * Shares by column and state, from 0 to 1. Every segment in the window is looked at once; so a
 * million take milliseconds, and however many there are, there are only as many columns to paint.
 */
export function columns(
  lane: Lane,
  from: number,
  to: number,
  width: number,
  shares: Float32Array = new Float32Array(width * STATES),
): Float32Array {
  shares.fill(0);
  const perColumn = (to - from) / width;
  const scale = 1 / perColumn;
  const { start, end, state } = lane;
  for (
    let i = Math.max(firstAfter(lane, from) - 1, 0);
    i < start.length && start[i]! < to;
    i++
  ) {
    const begin = (Math.max(start[i]!, from) - from) * scale;
    const stop = (Math.min(end[i]!, to) - from) * scale;
    if (stop <= begin) continue;
    const first = Math.min(begin | 0, width - 1);
    const last = Math.min(stop | 0, width - 1);
    const s = state[i]!;
    if (first === last) {
      shares[first * STATES + s]! += stop - begin;
      continue;
    }
    shares[first * STATES + s]! += first + 1 - begin;
    for (let x = first + 1; x < last; x++) shares[x * STATES + s] = 1;
    shares[last * STATES + s]! += stop - last;
  }
  return shares;
}
