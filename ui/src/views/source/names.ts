/** The files by self time: each a link to its lines. */
import { h } from "../../elements/dom";
import { percentOf, sourceLocation, shorten } from "../../elements/format";
import { VirtualList } from "../../elements/virtuallist";
import type { Profile } from "../../profile/profile";
import type { App } from "../../shell/app";
import { sourceAt } from "../../shell/links";
import type { File } from "./lines";

export class Names {
  private readonly rows = new VirtualList(
    "table",
    "Files by self time",
    h(
      "div",
      { class: "head", role: "row" },
      h("span", { role: "columnheader" }, "Files by self time"),
    ),
  );
  readonly element = h(
    "nav",
    { class: "files", "aria-label": "Files" },
    this.rows.element,
  );

  constructor(private readonly app: App) {}

  show(files: readonly File[], chosen: File, profile: Profile): void {
    const most = Math.max(files[0]?.self ?? 0, 1);
    this.rows.show(files.length, (i) => {
      const file = files[i]!;
      return h(
        "div",
        { class: "row", role: "row" },
        h(
          "a",
          {
            role: "cell",
            href: this.app.link(sourceAt(this.app, file.file, 0)),
            "aria-current": file === chosen ? "true" : undefined,
            title: shorten(file.file, 300),
            "data-file": file.file.length < 400 ? file.file : undefined,
          },
          h("i", { style: { width: `${(100 * file.self) / most}%` } }),
          h("bdi", { class: "name" }, sourceLocation(file.file, 0, 27)),
          h(
            "span",
            { class: "number faint" },
            file.self ? percentOf(file.self, profile.total) : "–",
          ),
        ),
      );
    });
  }

  destroy(): void {
    this.rows.destroy();
  }
}
