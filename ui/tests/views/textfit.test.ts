import { expect, test } from "vitest";
import { TextFitter } from "../../src/views/flame/textfit";

/** Every letter is ten pixels wide. */
const context = {
  font: "",
  measureText: (text: string) => ({ width: 10 * text.length }),
} as unknown as CanvasRenderingContext2D;

test("as much of a name as fits", () => {
  const letters = new TextFitter(context, "12px x");
  expect(letters.fit("meant", 50)).toBe("meant");
  expect(letters.fit("meant", 49)).toBe("mea…");
  expect(letters.fit("meant", 30)).toBe("me…");
  expect(letters.fit("meant", 29)).toBe("");
  expect(letters.fit("", 29)).toBe("");
});
