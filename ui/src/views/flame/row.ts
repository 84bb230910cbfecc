/** One row of frames on a canvas. */

import type { Theme } from "../../elements/theme";
import type { Row } from "./layout";
import type { TextFitter } from "./textfit";

/** How high a row is. */
export const ROW_HEIGHT = 19;
const WIDE_ENOUGH_FOR_TEXT = 22;

export interface Look {
  label(node: number): string;
  fill(node: number): string | CanvasPattern;
  ink(node: number): string;
  dim(node: number): boolean;
  /** Share of the time that was running, drawn as a thin bar; null: no bar. */
  running(node: number): number | null;
}

export interface RowStyle {
  readonly look: Look;
  readonly theme: Theme;
  readonly fitter: TextFitter;
}

export function drawRow(
  context: CanvasRenderingContext2D,
  row: Row,
  y: number,
  { look, theme, fitter }: RowStyle,
): void {
  for (const box of row.boxes) {
    const gap = box.width > 3 ? 1 : 0;
    const dim = look.dim(box.node);
    context.globalAlpha = dim ? 0.3 : 1;
    context.fillStyle = look.fill(box.node);
    context.fillRect(box.x, y, box.width - gap, ROW_HEIGHT - 1);
    const ran = look.running(box.node);
    if (ran !== null && box.width > 2) {
      context.fillStyle = theme.colour("running");
      context.fillRect(box.x, y + ROW_HEIGHT - 4, (box.width - gap) * ran, 3);
    }
    if (box.width <= WIDE_ENOUGH_FOR_TEXT) continue;
    const text = fitter.fit(look.label(box.node), box.width - 8);
    if (!text) continue;
    context.globalAlpha = dim ? 0.6 : 1;
    context.fillStyle = look.ink(box.node);
    context.fillText(text, box.x + 4, y + ROW_HEIGHT / 2);
  }
  context.globalAlpha = 0.6;
  context.fillStyle = theme.colour("line");
  for (const dust of row.dust)
    context.fillRect(dust.x, y, dust.width, ROW_HEIGHT - 1);
  context.globalAlpha = 1;
}
