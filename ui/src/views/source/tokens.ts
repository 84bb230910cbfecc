/** Syntax colouring of Python: comments, strings, keywords, what is defined. */

export type Kind = "" | "comment" | "string" | "keyword" | "defined";

export interface Token {
  kind: Kind;
  text: string;
}

const KEYWORDS = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except " +
    "finally for from global if import in is lambda nonlocal not or pass raise return try while " +
    "with yield match case"
  ).split(" "),
);

const TRIPLE = /[a-zA-Z]{0,2}("""|''')/y;
const STRING = /[rRbBuUfFtT]{0,2}(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/y;
const COMMENT = /#.*/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const REST = /[^\p{L}_"'#]+/uy;

/** Reads a file line by line: a string may go on over many. */
export class Tokenizer {
  /** What ends the string that the line began in, empty outside of one. */
  private open = "";

  line(text: string): Token[] {
    const found: Token[] = [];
    const add = (kind: Kind, part: string) => {
      const last = found.at(-1);
      if (last && last.kind === kind) last.text += part;
      else if (part) found.push({ kind, text: part });
    };
    let at = 0;
    if (this.open) at = this.through(text, 0, add);
    let before = "";
    while (at < text.length) {
      const triple = matchAt(TRIPLE, text, at);
      if (triple) {
        this.open = triple.endsWith('"') ? '"""' : "'''";
        add("string", triple);
        at = this.through(text, at + triple.length, add);
        continue;
      }
      const string = matchAt(STRING, text, at);
      const comment = string ? "" : matchAt(COMMENT, text, at);
      const name = string || comment ? "" : matchAt(NAME, text, at);
      if (string) add("string", string);
      else if (comment) add("comment", comment);
      else if (name) {
        const defined = before === "def" || before === "class";
        add(KEYWORDS.has(name) ? "keyword" : defined ? "defined" : "", name);
        before = name;
      }
      const rest =
        string || comment || name || matchAt(REST, text, at) || text[at]!;
      if (!string && !comment && !name) add("", rest);
      at += rest.length;
    }
    return found;
  }

  /** To the end of the string that is open; the place after it. */
  private through(
    text: string,
    from: number,
    add: (kind: Kind, part: string) => void,
  ): number {
    let end = from;
    for (;;) {
      const next = text.indexOf(this.open, end);
      const escape = text.indexOf("\\", end);
      if (escape >= 0 && (next < 0 || escape < next)) {
        end = escape + 2;
        continue;
      }
      if (next < 0) {
        add("string", text.slice(from));
        return text.length;
      }
      add("string", text.slice(from, next + 3));
      this.open = "";
      return next + 3;
    }
  }
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
