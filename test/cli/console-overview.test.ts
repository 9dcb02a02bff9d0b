/** The console's overview in a real browser: charts of real traffic, by pointer, by keyboard and as tables. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { startChromium } from "../support/chromium.ts";
import { enterConsole, visitView } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { assertAccessible } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import { startPlatform } from "../support/platform.ts";
import type { ApiBody, TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

describe("the console's overview", { skip: skipWithout("chromium") }, () => {
  let platform: TestPlatform;
  let service: HttpService;
  let chromium: Browser;
  let watched: WatchedPage;
  let page: Page;

  const made = async (method: string, path: string, body?: unknown): Promise<ApiBody> => {
    const answer = await platform.api(method, path, body);
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  };
  const region = (name: string): Locator => page.getByRole("region", { name, exact: true });

  before(async () => {
    platform = await startPlatform();
    service = await startHttpService((_request, response) => response.end("served"));
    chromium = await startChromium();
    watched = await enterConsole(chromium, platform, { viewport: { width: 1280, height: 900 } });
    page = watched.page;
  });
  after(async () => {
    await chromium.close();
    await platform.stop();
    await service.stop();
  });

  it("the overview loads at most 90 KiB of compressed scripts", async () => {
    const bytes = await page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .filter(({ name }) => name.endsWith(".js"))
        .reduce((sum, one) => sum + (one as PerformanceResourceTiming).encodedBodySize, 0),
    );
    assert.ok(bytes > 10_000 && bytes <= 90 * 1024, String(bytes));
  });

  it("the overview reports that there was no traffic, in each chart, before the first request", async () => {
    await region("Requests").getByText("No traffic in the last hour").waitFor();
    await region("Denied by reason").getByText("Nothing was denied in the last hour.").waitFor();
    await region("Agents").getByText("No agent is connected.").waitFor();
    assert.equal(await region("Busiest services").count(), 0);
    await assertAccessible(page, "overview without traffic", "#main");
  });

  it("the overview shows requests, errors and latency over time, by service and by reason", async () => {
    await platform.startAgent({ upstream: service.port, labels: { app: "shop" } });
    const backend = await made("POST", "/backends/tunnel_group", { labels: { app: "shop" } });
    const host = `shop.localhost:${platform.publicHttpsPort}`;
    const edge = await made("POST", "/edges/https", { hostports: [host] });
    await made("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/",
      backend: { backend_id: backend.id },
      user_agent_filter: { allow: [], deny: ["bad"] },
    });
    for (const agent of ["good", "good", "good", "good", "bad"]) {
      await platform.request(`https://${host}/`, { headers: { "user-agent": agent } });
    }
    const figure = (name: string): Promise<string> => region(name).locator(".chart-figure").innerText();
    await eventually(
      () => figure("Requests"),
      (text) => text.startsWith("5"),
    );
    // A rule for another element once hid the bars of wide pages.
    await region("Requests").locator("path.bar.accent").waitFor();
    assert.match(await figure("Denied and errors"), /^0\s*errors \(0 %\), 1 denied/);
    assert.match(await figure("Latency"), /^[\d.]+ ms\s*p95, half within [\d.]+ ms/);
    const card = region("Busiest services").getByRole("listitem").filter({ hasText: "shop.localhost" });
    await card.getByText(/5 requests, p95/).waitFor();
    await region("Denied by reason").getByRole("listitem").filter({ hasText: "does not allow this client" }).waitFor();
    await region("Agents")
      .getByText(/linux, 1 tunnel/)
      .waitFor();
    await card.getByRole("link", { name: "shop.localhost" }).click();
    await page.getByRole("main").getByRole("heading", { level: 1, name: host }).waitFor();
    await visitView(page, platform, "overview");
  });

  it("the overview shows the values of a step under the pointer, with the arrow keys, and as a table", async () => {
    const chart = region("Requests");
    const slider = chart.getByRole("slider");
    await slider.focus();
    const texts: (string | null)[] = [];
    for (let step = 0; step < 10; step += 1) {
      texts.push(await slider.getAttribute("aria-valuetext"));
      await page.keyboard.press("ArrowLeft");
    }
    const total = (name: string): number =>
      texts.reduce((sum, text) => sum + Number(new RegExp(`${name} (\\d+)`).exec(text ?? "")?.[1] ?? 0), 0);
    // The requests may have fallen into two minutes.
    assert.deepEqual([total("OK"), total("Denied"), total("Errors")], [4, 1, 0], texts.join("\n"));
    await page.keyboard.press("Escape");
    assert.equal(await chart.locator(".tip").count(), 0);
    const box = await slider.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + 1, box.y + 20);
    await chart.locator(".tip", { hasText: "OK" }).waitFor();
    // Charts beside each other show the same step.
    await region("Latency").locator(".tip", { hasText: "p95" }).waitFor();
    await page.mouse.move(1, 1);
    await page.getByRole("button", { name: "Show as tables" }).click();
    const cells = await chart.getByRole("row").allInnerTexts();
    assert.deepEqual(cells[0]?.split(/\s+/), ["Time", "OK", "Denied", "Errors"]);
    assert.equal(
      cells.slice(1).reduce((sum, row) => sum + Number(row.split(/\s+/).at(-3)), 0),
      4,
    );
    await assertAccessible(page, "overview as tables", "#main");
    await page.getByRole("button", { name: "Show charts" }).click();
    await slider.waitFor();
  });

  it("the overview shows the same traffic in the last day and week", async () => {
    for (const period of ["Last day", "Last week", "Last hour"]) {
      await page.getByRole("button", { name: period }).click();
      await page.getByRole("button", { name: period, pressed: true }).waitFor();
      await eventually(
        () => region("Requests").locator(".chart-figure").innerText(),
        (text) => text.startsWith("5"),
      );
    }
  });

  it("the overview fits phones and wide screens, and is accessible in both themes", async () => {
    for (const width of [390, 1280, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      await visitView(page, platform, "overview");
      await region("Latency").waitFor();
      assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, String(width));
    }
    for (const colours of ["dark", "light"]) {
      await page.getByRole("button", { name: `Use ${colours} colours` }).click();
      await assertAccessible(page, `overview in ${colours} colours`);
    }
    watched.assertQuiet();
  });
});
