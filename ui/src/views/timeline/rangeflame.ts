/** The flame graph of the chosen range, below the lanes. */
import { fill, h } from "../../elements/dom";
import type { Profile } from "../../profile/profile";
import { search } from "../../profile/search";
import type { App } from "../../shell/app";
import { functionDetail } from "../../shell/detailpanel";
import { emptyState } from "../../shell/emptystate";
import { frameColours } from "../flame/colour";
import { Icicle } from "../flame/icicle";

export interface RangeFlame {
  readonly element: HTMLElement;
  update(): void;
  destroy(): void;
}

export function rangeFlame(app: App): RangeFlame {
  let profile: Profile | null = null;
  let zoom = -1;
  let asked = 0;
  const explain = (node: number) => {
    const tree = profile!.tree(true);
    return functionDetail(app, profile!, {
      fn: tree.fn[node]!,
      line: tree.line[node]!,
      self: tree.self[node]!,
      total: tree.total[node]!,
      totalWaiting: tree.totalWaiting[node]!,
      samples: tree.totalSamples[node]!,
    });
  };
  const icicle = new Icicle(
    {
      point: (node) => app.explain(node === null ? null : explain(node)),
      select: (node) => app.explain(explain(node), true),
      zoom: (node) => {
        zoom = node;
        draw();
      },
      menu: () => {},
    },
    false,
    "Flame graph of the range. Arrow keys move between frames, Enter zooms.",
  );
  const empty = h("div");
  const element = h("div", { class: "flame-below" }, icicle.element, empty);

  function draw(): void {
    if (!profile) return;
    const tree = profile.tree(true);
    const flags = search(profile.functions, app.state.search);
    icicle.element.hidden = !profile.total;
    fill(empty, profile.total ? null : emptyState(app));
    if (profile.total) {
      const look = frameColours(app, profile, tree, flags, true);
      icicle.show(tree, look, app.theme, zoom);
    }
  }

  return {
    element,
    async update() {
      const turn = ++asked;
      const found = await app.profile();
      if (turn !== asked) return;
      if (found !== profile) zoom = -1;
      profile = found;
      draw();
    },
    destroy() {
      asked++;
      icicle.destroy();
    },
  };
}
