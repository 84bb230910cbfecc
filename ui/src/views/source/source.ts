/** A file with the time of its lines in the margin. */
import "./source.css";
import type { Profile } from "../../profile/profile";
import type { App, Mounted, View } from "../../shell/app";
import { fill, h } from "../../shell/dom";
import {
  duration,
  part,
  place,
  printable,
  shortened,
} from "../../shell/format";
import { sourceAt } from "../../shell/links";
import { nothing } from "../../shell/nothing";
import { files, type File } from "./lines";
import { listing } from "./listing";

export const source: View = {
  id: "source",
  title: "Source",
  key: "c",
  mount: (root, app) => new Source(root, app),
};

class Source implements Mounted {
  private readonly list = h("nav", { class: "files", "aria-label": "Files" });
  private readonly head = h("header", { class: "file-head" });
  private readonly notice = h("div");
  private readonly body = h("div", { class: "file-body" });
  private readonly view = h(
    "div",
    { class: "source-view" },
    this.list,
    h("div", { class: "file" }, this.head, this.notice, this.body),
  );
  private asked = 0;
  private of: Profile | null = null;
  private files: File[] = [];
  private shown = "";

  constructor(
    private readonly root: HTMLElement,
    private readonly app: App,
  ) {
    fill(root, this.view);
  }

  destroy(): void {
    this.asked++;
  }

  async update(): Promise<void> {
    const turn = ++this.asked;
    const { app } = this;
    const profile = await app.profile();
    if (turn !== this.asked) return;
    if (profile !== this.of) {
      this.of = profile;
      this.files = files(profile.tree(false), profile.functions);
      this.shown = "";
    }
    const wanted = app.own("source", "file");
    const asked: File | null =
      wanted === null
        ? null
        : { file: wanted, self: 0, total: 0, lines: new Map() };
    const file =
      this.files.find((one) => one.file === wanted) ?? asked ?? this.files[0];
    if (!file) return fill(this.root, nothing(app));
    if (!this.view.isConnected) fill(this.root, this.view);
    this.names(file, profile);
    this.title(file, profile);
    const line = Number(app.own("source", "line") ?? 0);
    const shown = JSON.stringify([file.file, line]);
    if (shown === this.shown) return;
    this.shown = shown;
    const text = isGenerated(file.file)
      ? null
      : await app.recordings[0]!.source(file.file).catch(() => null);
    if (turn !== this.asked) return;
    fill(this.body, listing(app, profile, file, text, line));
    fill(this.notice, text === null ? this.unreadable(file) : null);
    const mark =
      this.body.querySelector(".code-line.asked") ??
      this.body.querySelector(".code-line.hottest");
    mark?.scrollIntoView({ block: "center" });
  }

  private names(chosen: File, profile: Profile): void {
    const most = Math.max(...this.files.map((file) => file.self), 1);
    fill(
      this.list,
      h("h2", null, "Files by own time"),
      h(
        "ol",
        null,
        this.files.slice(0, 400).map((file) =>
          h(
            "li",
            null,
            h(
              "a",
              {
                href: this.app.link(sourceAt(this.app, file.file, 0)),
                "aria-current": file === chosen ? "true" : undefined,
                title: shortened(file.file, 300),
                "data-file": file.file.length < 400 ? file.file : undefined,
              },
              h("i", { style: { width: `${(100 * file.self) / most}%` } }),
              h("bdi", { class: "name" }, place(file.file, 0, 27)),
              h(
                "span",
                { class: "number faint" },
                file.self ? part(file.self, profile.total) : "–",
              ),
            ),
          ),
        ),
      ),
    );
  }

  private title(file: File, profile: Profile): void {
    const hot = [...file.lines.values()]
      .filter((line) => line.self > 0)
      .sort((a, b) => b.self - a.self)
      .slice(0, 5);
    fill(
      this.head,
      h("h2", null, h("bdi", null, shortened(printable(file.file), 160))),
      h(
        "p",
        null,
        "own ",
        h("b", { class: "own" }, duration(file.self)),
        ` (${part(file.self, profile.total)}), with all it called `,
        h("b", null, duration(file.total)),
        ` (${part(file.total, profile.total)}) of ${duration(profile.total)} ${profile.choice.time}`,
        hot.length ? h("span", { class: "faint" }, " · hottest lines: ") : null,
        hot.map((line) => [
          " ",
          h(
            "a",
            { href: this.app.link(sourceAt(this.app, file.file, line.line)) },
            `${line.line}`,
          ),
        ]),
      ),
    );
  }

  private unreadable(file: File): HTMLElement {
    return h(
      "div",
      { class: "notice" },
      isGenerated(file.file)
        ? "This code has no file: it was made while the program ran."
        : [
            "The source is not here: it cannot be read where this page comes from, or it was changed " +
              "after the recording. To have it in the page, write it where the source is: ",
            h(
              "code",
              null,
              `sonde view ${shortened(this.app.recordings[0]!.meta.file, 60)} --with-source --html page.html`,
            ),
          ],
    );
  }
}

/** Code without a file: `<string>`, `<frozen os>`. */
function isGenerated(file: string): boolean {
  return !file || file.startsWith("<");
}
