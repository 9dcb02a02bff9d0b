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
    await world.platform.request(url, { method: "POST", body: '{"type":"invoice.paid"}' });
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
    await message.getByText('"type": "invoice.paid"').waitFor();
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
});
