/** The server, seen from a browser. */

import { expect, open, test } from "../sonde";

test("the page comes up, from the server alone", async ({ page, served }) => {
  const url = await served("shop");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await open(page, url, "overview");
  await expect(page).toHaveTitle(/sonde/);
  expect(asked.filter((one) => !one.startsWith(url))).toEqual([]);
});

test("parts come when a view wants them", async ({ page, served }) => {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const url = await served("shop");
  await open(page, url, "flame");
  await page.waitForLoadState("networkidle");
  const parts = asked.map((one) => one.replace(url, ""));
  expect(parts).toContain("r/0/samples");
  expect(parts).not.toContain("r/0/source");
  await open(page, url, "locks");
  await page.waitForLoadState("networkidle");
  expect(asked.map((one) => one.replace(url, ""))).toContain("r/0/waits");
  // Nothing is asked for twice.
  const unique = new Set(asked.filter((one) => one.includes("/r/")));
  expect(asked.filter((one) => one.includes("/r/"))).toEqual([...unique]);
});

test("without the token there is nothing", async ({ request, served }) => {
  const url = new URL(await served("shop"));
  for (const path of ["/", "/r/0/meta", "/x/", "/x/r/0/samples"]) {
    const answer = await request.get(url.origin + path);
    expect(answer.status()).toBe(403);
  }
});

test("another origin gets nothing, even with the token", async ({
  browser,
  served,
}) => {
  const url = await served("shop");
  const page = await browser.newPage();
  await page.route("http://stranger.test/", (route) =>
    route.fulfill({ contentType: "text/html", body: "<p>stranger</p>" }),
  );
  await page.goto("http://stranger.test/");
  const got = await page.evaluate(async (address) => {
    const read = async (mode: RequestMode) => {
      try {
        return (await (await fetch(address, { mode })).text()).length;
      } catch {
        return -1;
      }
    };
    return [await read("cors"), await read("no-cors")];
  }, `${url}r/0/meta`);
  expect(Math.max(...got)).toBeLessThanOrEqual(0);
  await page.close();
});

test("a script that a name would smuggle in does not run", async ({
  browser,
  served,
}) => {
  // Not a page of ours that stays clean: it is made to try.
  const page = await browser.newPage();
  await page.goto(await served("shop"));
  await page.waitForSelector("main#view > *");
  const ran = await page.evaluate(async () => {
    const image = document.createElement("div");
    image.innerHTML = '<img src="x:" onerror="window.pwned = 1">';
    const script = document.createElement("script");
    script.textContent = "window.pwned = 1";
    document.body.append(image, script);
    await new Promise((resolve) => setTimeout(resolve, 200));
    let sent = "sent";
    await fetch("https://stranger.test/").catch(() => (sent = "refused"));
    return [(window as unknown as { pwned?: number }).pwned ?? 0, sent];
  });
  expect(ran).toEqual([0, "refused"]);
  await page.close();
});
