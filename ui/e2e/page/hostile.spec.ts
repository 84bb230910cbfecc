/** Names that mean harm change nothing but text, in every view. */

import { pathToFileURL } from "node:url";
import { VIEWS } from "../../browser.mjs";
import { expect, open, test, written } from "../sonde";

for (const from of ["server", "file"]) {
  for (const names of [
    ["hostile"],
    // With another to compare it with.
    ["hostile", "everything"],
  ] as const) {
    const views = VIEWS.filter(
      (view) => (view === "diff") === names.length > 1,
    );
    test(`${views.join(", ")} from a ${from}`, async ({ page, served }) => {
      const url =
        from === "server"
          ? await served(...names)
          : pathToFileURL(written(`${names.join("-")}.html`, [...names])).href;
      for (const view of views) {
        for (const time of ["running", "wall"]) {
          await open(page, url, view, `time=${time}`);
          await page.waitForTimeout(200);
          // Over everything that shows details of what is under the pointer.
          for (const [x, y] of [
            [300, 260],
            [640, 330],
            [900, 420],
          ] as const) {
            await page.mouse.move(x, y);
            await page.mouse.click(x, y);
          }
        }
        const seen = await page.evaluate(() => ({
          ran: (window as unknown as { pwned?: number }).pwned ?? 0,
          strange: document.querySelectorAll(
            "img, iframe, object, embed, main script, main style, [onerror], [onload]",
          ).length,
          links: [...document.querySelectorAll("a[href]")]
            .map((link) => link.getAttribute("href")!)
            .filter((href) => /^\s*javascript:/i.test(href)).length,
          wide: document.documentElement.scrollWidth - window.innerWidth,
        }));
        expect({ view, ...seen }).toEqual({
          view,
          ...{ ran: 0, strange: 0, links: 0, wide: 0 },
        });
      }
    });
  }
}

test("a name is shown as it is", async ({ page, served }) => {
  await open(page, await served("hostile"), "sandwich");
  await expect(
    page
      .getByText("</script><script>window.pwned = 1</script>", { exact: false })
      .first(),
  ).toBeAttached();
});
