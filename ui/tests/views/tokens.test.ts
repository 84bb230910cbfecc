import { expect, test } from "vitest";
import { Tokenizer } from "../../src/views/source/tokens";

function tokenTexts(...lines: string[]): string[] {
  const reader = new Tokenizer();
  return lines.map((line) =>
    reader
      .line(line)
      .filter((token) => token.kind)
      .map((token) => `${token.kind}:${token.text}`)
      .join(" "),
  );
}

test("what stands out in a line of Python", () => {
  expect(tokenTexts("def price(query):  # why")).toEqual([
    "keyword:def defined:price comment:# why",
  ]);
  expect(tokenTexts("with self._lock, open('a#b') as f:")).toEqual([
    "keyword:with string:'a#b' keyword:as",
  ]);
  expect(tokenTexts('x = rb"\\"#" # end')).toEqual([
    'string:rb"\\"#" comment:# end',
  ]);
  expect(tokenTexts("definite = format(notes)")).toEqual([""]);
});

test("strings go on over lines", () => {
  expect(
    tokenTexts('"""Say', "if so # no comment", 'end""" if x else 1'),
  ).toEqual([
    'string:"""Say',
    "string:if so # no comment",
    'string:end""" keyword:if keyword:else',
  ]);
  expect(tokenTexts("f'''a\\''' b''' or c")).toEqual([
    "string:f'''a\\''' b''' keyword:or",
  ]);
});

test("nothing is lost, whatever the line is", () => {
  const lines = [
    "x = 'never closed",
    '"""',
    "</script><img src=x onerror=1>",
    "\\",
    "été = naïve('日本') + 😀",
    "\u202eabc \0 #",
    '"""',
    "\t  a  ",
    "",
  ];
  const reader = new Tokenizer();
  for (const line of lines) {
    const all = reader.line(line).map((token) => token.text);
    expect(all.join("")).toBe(line);
  }
});

test("very long lines come to an end", () => {
  const reader = new Tokenizer();
  for (const line of [
    `x = "${"\\a".repeat(20_000)}`,
    "'\"".repeat(20_000),
    "a".repeat(50_000),
  ]) {
    const all = reader.line(line).map((token) => token.text);
    expect(all.join("")).toBe(line);
  }
});
