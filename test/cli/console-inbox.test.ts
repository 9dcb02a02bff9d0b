/** The console's view of inboxes: a dead webhook with its attempts and payload, delivered again, one or all. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startChromium } from "../support/chromium.ts";
import { enterConsole, visitView } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { startInboxWorld } from "../support/inbox-world.ts";
import type { InboxWorld } from "../support/inbox-world.ts";
import { assertAccessible } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import { skipWithout } from "../support/programs.ts";

describe("the console's inbox", { skip: skipWithout("chromium"), timeout: 180_000 }, () => {
  let world: InboxWorld;
  let chromium: Browser;
  let watched: WatchedPage;
  let page: Page;
  before(async () => {
    [world, chromium] = await Promise.all([startInboxWorld(), startChromium()]);
    watched = await enterConsole(chromium, world.platform);
    ({ page } = watched);
  });
  after(async () => {
    await chromium?.close();
    await world?.stop();
  });

  it("the console's inbox shows a dead webhook with its attempts and payload, and delivers all that match", async () => {
    await world.route("/hooks", { inbox: { enabled: true, max_attempts: 1 } });
    world.answer = (_request, response) => {
      response.statusCode = 500;
      response.end();
    };
    const agent = await world.startAgent();
    const url = `https://${world.host}/hooks/paid`;
    await world.platform.request(url, { method: "POST", body: '{"type":"invoice.paid","paid":true}' });
    await eventually(
      () => world.ok("GET", "/inbox_messages?state=dead"),
      (found) => found.inbox_messages.length === 1,
    );
    await visitView(page, world.platform, "inbox");
    const row = page.getByRole("button", { name: /dead.*\/hooks\/paid invoice\.paid/ });
    await row.click();
    const message = page.getByRole("article", { name: "Webhook" });
    await message.getByText("500").waitFor();
    await message.getByRole("button", { name: "Show the payload" }).click();
    const body = message.locator(".json");
    await body.waitFor();
    assert.deepEqual(await body.locator(".key").allTextContents(), ['"type"', '"paid"']);
    assert.deepEqual(await body.locator(".string").allTextContents(), ['"invoice.paid"']);
    assert.deepEqual(await body.locator(".word").allTextContents(), ["true"]);
    const timeline = await message.getByRole("list", { name: "Timeline" }).getByRole("listitem").allTextContents();
    assert.deepEqual(
      timeline.map((one) => /received|attempt 1.*500|dead/.exec(one)?.[0].slice(0, 8)),
      ["received", "attempt ", "dead"],
    );
    await assertAccessible(page, "a webhook of an inbox", "#main");

    world.answer = (_request, response) => response.end();
    await page.getByRole("button", { name: "Deliver all that match" }).click();
    await page.getByRole("button", { name: "Deliver 1 webhooks" }).click();
    await eventually(
      () => world.ok("GET", "/inbox_messages?state=delivered"),
      (found) => found.inbox_messages.length === 1,
    );
    assert.equal(world.received.length, 2);
    await agent.close();
  });

  it("the console shows dead webhooks on the overview, and the differences of two that the user chooses", async () => {
    await world.route("/pairs", { inbox: { enabled: true, max_attempts: 1 } });
    world.answer = (_request, response) => {
      response.statusCode = 503;
      response.end();
    };
    const agent = await world.startAgent();
    for (const amount of [10, 20]) {
      const body = JSON.stringify({ type: "invoice.paid", amount });
      await world.platform.request(`https://${world.host}/pairs/${amount}`, { method: "POST", body });
    }
    await eventually(
      () => world.ok("GET", "/inbox_messages?state=dead"),
      (found) => found.inbox_messages.length === 2,
    );
    await visitView(page, world.platform, "overview");
    const dead = page.getByRole("region", { name: "Dead webhooks" });
    await dead.getByRole("link", { name: "POST /pairs/20" }).waitFor();
    await assertAccessible(page, "the overview with dead webhooks", "#main");
    await dead.getByRole("link", { name: "All 2" }).click();
    assert.equal(await page.getByRole("combobox", { name: "State" }).inputValue(), "dead");
    for (const amount of [10, 20]) {
      const row = page.getByRole("listitem").filter({ hasText: `/pairs/${amount}` });
      await row.getByRole("checkbox").check();
    }
    await page.getByRole("button", { name: "Compare 2 chosen" }).click();
    const comparison = page.getByRole("article", { name: "Comparison" });
    await comparison.locator(".added").first().waitFor();
    const lines = await comparison.locator(".added, .removed").allTextContents();
    assert.ok(lines.includes('-   "amount": 10') && lines.includes('+   "amount": 20'), lines.join("\n"));
    assert.ok(!lines.some((line) => line.includes("invoice.paid")));
    await assertAccessible(page, "the differences of two webhooks", "#main");

    await page.getByRole("button", { name: "Discard 2 chosen" }).click();
    await eventually(
      () => world.ok("GET", "/inbox_messages?state=discarded"),
      (found) => found.inbox_messages.length === 2,
    );
    await agent.close();
  });
});
