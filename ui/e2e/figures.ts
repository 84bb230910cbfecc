/** Reading exact figures off the page: every time shown has its nanoseconds as a title. */

import type { Locator, Page } from "@playwright/test";

/** The nanoseconds behind what an element shows. */
export async function ns(element: Locator): Promise<number> {
  const title = await element.getAttribute("title");
  const found = /^(-?\d+) ns$/.exec(title ?? "");
  if (!found) throw new Error(`no figure behind "${title}"`);
  return Number(found[1]);
}

export interface Row {
  name: string;
  first: number;
  second: number;
  samples: number;
}

/** The rows in sight of a table of the page: two times, samples, a name. */
export function rows(page: Page): Promise<Row[]> {
  return page.locator("main .row").evaluateAll((found) =>
    found
      .map((row) => {
        const times = [...row.querySelectorAll(".share")].map((cell) =>
          parseInt(cell.getAttribute("title")!, 10),
        );
        const samples = row.children[4].textContent!.replaceAll(",", "");
        return {
          index: Number(row.getAttribute("aria-rowindex")),
          name: row.querySelector("bdi.name")!.textContent!,
          first: times[0],
          second: times[1],
          samples: Number(samples),
        };
      })
      .sort((a, b) => a.index - b.index)
      .map(({ index, ...row }) => (void index, row)),
  );
}
