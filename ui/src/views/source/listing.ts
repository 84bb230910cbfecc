/** The lines of a file with their times; where there is no source, the lines that have times. */
import type { Profile } from "../../profile/profile";
import type { App } from "../../shell/app";
import { h } from "../../shell/dom";
import { count, duration, part, shortened } from "../../shell/format";
import type { File, Line } from "./lines";
import { Reader } from "./tokens";

/** Lines of one block: the browser lays out only the blocks that are near the screen. */
const BLOCK = 100;
const LONGEST = 1000;
/** Longer files are shown without colours: there would be too many elements. */
const COLOURED = 8000;

export function listing(
  app: App,
  profile: Profile,
  file: File,
  text: string | null,
  asked: number,
): HTMLElement {
  const hottest = Math.max(
    ...[...file.lines.values()].map((line) => line.self),
    1,
  );
  const one = (
    number: number,
    code: string | null,
    reader: Reader | null = null,
  ) => {
    const line = file.lines.get(number);
    const told = code === null ? null : coded(code, reader);
    return drawn(app, profile, line, number, code, told, hottest, asked);
  };
  const head = h(
    "div",
    { class: "code-head" },
    ["total", "self", "line"].map((name) =>
      h("span", { class: "number" }, name),
    ),
    h("span", null, text === null ? "function" : ""),
  );
  if (text === null) {
    const known = [...file.lines.keys()].sort((a, b) => a - b);
    return h(
      "div",
      { class: "code-table" },
      head,
      known.map((number) => one(number, null)),
    );
  }
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const reader =
    lines.length <= COLOURED && /\.pyw?$/.test(file.file) ? new Reader() : null;
  const blocks: HTMLElement[] = [];
  for (let start = 0; start < lines.length; start += BLOCK) {
    const part = lines.slice(start, start + BLOCK);
    blocks.push(
      h(
        "div",
        {
          class: "block",
          style: { "contain-intrinsic-height": `${part.length * 19}px` },
        },
        part.map((code, i) => one(start + i + 1, code, reader)),
      ),
    );
  }
  return h("div", { class: "code-table" }, head, blocks);
}

function drawn(
  app: App,
  profile: Profile,
  line: Line | undefined,
  number: number,
  code: string | null,
  told: HTMLElement | null,
  hottest: number,
  asked: number,
): HTMLElement {
  const self = line?.self ?? 0;
  const total = line?.total ?? 0;
  const names = () =>
    (line?.functions ?? []).map((fn) =>
      shortened(profile.functions[fn]!.name, 80),
    );
  const explain = () => {
    if (!line) return app.explain(null);
    app.explain(
      h(
        "div",
        null,
        h(
          "p",
          { class: "told" },
          h("span", { class: "name" }, names().join(", ")),
          h("span", null, `line ${number}`),
          code === null
            ? null
            : h("span", { class: "code" }, shortened(code.trim(), 200)),
        ),
        h(
          "p",
          { class: "faint" },
          `self ${duration(self)} (${part(self, profile.total)}), ` +
            `total ${duration(total)} (${part(total, profile.total)})` +
            (line.waiting && profile.choice.time === "wall"
              ? `, ${duration(line.waiting)} of it waiting`
              : "") +
            (line.functions.length > 1
              ? `, in ${count(line.functions.length, "function")}`
              : ""),
        ),
      ),
    );
  };
  const classes = ["code-line"];
  if (number === asked) classes.push("asked");
  if (self > 0 && self === hottest) classes.push("hottest");
  return h(
    "div",
    {
      class: classes.join(" "),
      "data-line": number,
      "data-self": line ? self : undefined,
      "data-total": line ? total : undefined,
      onpointerenter: line ? explain : undefined,
      onpointerleave: line ? () => app.explain(null) : undefined,
    },
    h(
      "span",
      { class: "number total", title: total ? `${total} ns` : undefined },
      total ? duration(total) : "",
    ),
    h(
      "span",
      { class: "number self", title: self ? `${self} ns` : undefined },
      self
        ? h("i", {
            style: { width: `${Math.max((100 * self) / hottest, 1)}%` },
          })
        : null,
      h("span", null, self ? duration(self) : ""),
    ),
    h("span", { class: "number at" }, number),
    told ?? h("span", { class: "names" }, names().join(", ")),
  );
}

function coded(code: string, reader: Reader | null): HTMLElement {
  // The reader must see every line, or it would not know which are in a string.
  const tokens = reader?.line(code);
  if (code.length > LONGEST)
    return h("span", { class: "text" }, shortened(code, LONGEST));
  return h(
    "span",
    { class: "text" },
    tokens
      ? tokens.map(({ kind, text }) =>
          kind
            ? h("span", { class: `python-${kind}` }, visible(text))
            : visible(text),
        )
      : visible(code),
  );
}

/** Characters that would turn the direction of what follows are written out; tabs stay. */
function visible(code: string): string {
  return code.replace(
    /[\u0000-\u0008\u000b-\u001f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
