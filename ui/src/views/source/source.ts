/** A file with the time of its lines in the margin. */
import "./source.css";
import { fill, h } from "../../elements/dom";
import {
  duration,
  percentOf,
  printable,
  shorten,
  TIMES,
} from "../../elements/format";
import type { Profile } from "../../profile/profile";
import type { App, MountedView, View } from "../../shell/app";
import { emptyState } from "../../shell/emptystate";
import { sourceAt } from "../../shell/links";
import { files, type File } from "./lines";
import { Listing } from "./listing";
import { Names } from "./names";

export const source: View = {
  id: "source",
  title: "Source",
  key: "c",
  mount: (root, app) => new Source(root, app),
};

class Source implements MountedView {
  private readonly names: Names;
  private readonly head = h("header", { class: "file-head" });
  private readonly notice = h("div");
  private readonly body = h("div", { class: "file-body" });
  private readonly view: HTMLElement;
  private turn = 0;
  private of: Profile | null = null;
  private files: File[] = [];
  private listing: Listing | null = null;
  private asked = 0;

  constructor(
    private readonly root: HTMLElement,
    private readonly app: App,
  ) {
    this.names = new Names(app);
    this.view = h(
      "div",
      { class: "source-view" },
      this.names.element,
      h("div", { class: "file" }, this.head, this.notice, this.body),
    );
    fill(root, this.view);
  }

  destroy(): void {
    this.turn++;
    this.names.destroy();
  }

  async update(): Promise<void> {
    const turn = ++this.turn;
    const { app } = this;
    const profile = await app.profile();
    if (turn !== this.turn) return;
    if (profile !== this.of) {
      this.of = profile;
      this.files = files(profile.tree(false), profile.functions);
    }
    const wanted = app.setting("source", "file");
    const untouched: File | null =
      wanted === null
        ? null
        : { file: wanted, self: 0, total: 0, lines: new Map() };
    const file =
      this.files.find((one) => one.file === wanted) ??
      untouched ??
      this.files[0];
    if (!file) return fill(this.root, emptyState(app));
    if (!this.view.isConnected) fill(this.root, this.view);
    this.names.show(this.files, file, profile);
    this.title(file, profile);
    const line = Number(app.setting("source", "line") ?? 0);
    if (this.listing?.file !== file.file) {
      const text = isGenerated(file.file)
        ? null
        : await app.recordings[0]!.source(file.file).catch(() => null);
      if (turn !== this.turn) return;
      this.listing = new Listing(app, file.file, text);
      this.asked = -1;
      fill(this.body, this.listing.element);
      fill(this.notice, text === null ? this.unreadable(file) : null);
    }
    this.listing.show(profile, file, line);
    // The scroll position stays while only the times change.
    if (line === this.asked) return;
    this.asked = line;
    this.listing.mark()?.scrollIntoView({ block: "center" });
  }

  private title(file: File, profile: Profile): void {
    const hot = [...file.lines.values()]
      .filter((line) => line.self > 0)
      .sort((a, b) => b.self - a.self)
      .slice(0, 5);
    fill(
      this.head,
      h("h2", null, h("bdi", null, shorten(printable(file.file), 160))),
      h(
        "p",
        null,
        "self ",
        h("b", { class: "self" }, duration(file.self)),
        ` (${percentOf(file.self, profile.total)}), total `,
        h("b", null, duration(file.total)),
        ` (${percentOf(file.total, profile.total)}) of ${duration(profile.total)} ${TIMES[profile.selection.time]}`,
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
        ? "This code has no source file: it was generated at run time."
        : [
            "The source is not available: the server cannot read it, or it was changed " +
              "after the recording. To include it, run this where the source is: ",
            h(
              "code",
              null,
              `sonde view ${shorten(this.app.recordings[0]!.meta.file, 60)} --with-source --html page.html`,
            ),
          ],
    );
  }
}

/** Code without a file: `<string>`, `<frozen os>`. */
function isGenerated(file: string): boolean {
  return !file || file.startsWith("<");
}
