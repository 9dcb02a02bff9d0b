/** The console with many tunnels, and over a slow network. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { startChromium } from "../support/chromium.ts";
import { eventually } from "../support/eventually.ts";
import { openWatched } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import { databases } from "../support/postgres.ts";
import { skipWithout } from "../support/programs.ts";

const sqlite = databases[0] as (typeof databases)[number];
const tunnels = 20_000;

describe("the console at its limits", { skip: skipWithout("chromium"), timeout: 240_000 }, () => {
  let api: TestApi;
  let chromium: Browser;
  before(async () => {
    [api, chromium] = await Promise.all([startApi(sqlite), startChromium()]);
    const accountId = (await api.ok("GET", "/accounts")).accounts[0].id as string;
    api.edge.send({ type: "hello", edgeId: "edge" });
    const shared = {
      accountId,
      credentialId: "cr_x",
      metadata: "",
      region: "local",
      startedAt: "2026-01-01T00:00:00Z",
    };
    const id = (prefix: string, count: number): string => `${prefix}_${count.toString(36).padStart(27, "0")}`;
    const said = { agentVersion: "1", ip: "192.0.2.1", os: "linux", transport: "ngrok/2" };
    api.edge.send({ type: "session_opened", session: { ...shared, ...said, id: id("ts", 1) } });
    for (let count = 1; count <= tunnels; count += 1) {
      const endpoint = { id: id("ep", count), proto: "https", publicUrl: `https://t${count}.postern.test` } as const;
      const tunnel = {
        ...shared,
        id: id("tn", count),
        sessionId: id("ts", 1),
        forwardsTo: `localhost:${count}`,
        endpoint,
      };
      api.edge.send({ type: "tunnel_opened", tunnel });
    }
  });
  after(async () => {
    await chromium?.close();
    await api?.stop();
  });
  const link = async (): Promise<string> => (await api.ok("POST", "/console_links")).url;

  it(`the console at its limits draws only the visible ones of ${tunnels} tunnels, and finds each of them`, async () => {
    const watched: WatchedPage = await openWatched(chromium, api.baseUrl);
    const { page } = watched;
    await page.goto(await link());
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.goto(`${api.baseUrl}/#/objects/tunnel`);
    const rows = page.locator(".body-row");
    await rows.first().waitFor();
    const list = page.getByRole("table");
    for (let screen = 0; screen < 10; screen += 1) {
      const height = (): Promise<number> => page.locator(".body-rows").evaluate((one) => one.clientHeight);
      const before = await height();
      await list.evaluate((one) => one.scrollTo(0, one.scrollHeight));
      await eventually(height, (now) => now > before);
      assert.ok((await rows.count()) < 80, String(await rows.count()));
    }
    await page.getByRole("searchbox", { name: "Filter" }).fill(":19999");
    await rows.filter({ hasText: "19999" }).first().waitFor();
    assert.equal(await rows.count(), 1);
    watched.assertQuiet();
    await watched.context.close();
  });

  it("the console at its limits shows 10,000 requests while more arrive, draws only the visible ones, and keeps them in place", async () => {
    const id = (count: number): string => `req_${count.toString(36).padStart(27, "0")}`;
    const trace = (count: number) => ({
      id: id(count),
      endedAt: Date.UTC(2026, 0, 1) + count,
      method: "GET",
      host: "shop.postern.test",
      path: `/${count}`,
      source: "192.0.2.1",
      siteId: "edghts_x",
      outcome: "forwarded" as const,
      status: 200,
      durationMs: 1,
      bytesIn: 0,
      bytesOut: 10,
      cutShort: false,
      steps: [],
      routeId: undefined,
      tunnel: undefined,
      errorCode: undefined,
      upstreamMs: 1,
    });
    let last = 10_000;
    api.edge.answer = (message) => {
      if (message.type !== "question" || message.question.name !== "requests") return undefined;
      const { limit, beforeId } = message.question;
      const from = beforeId === undefined ? last : Number.parseInt(beforeId.slice(4), 36) - 1;
      const count = Math.min(limit, from);
      const requests = Array.from({ length: count }, (_, at) => trace(from - at));
      return { type: "answer", call: message.call, answer: { name: "requests", requests, more: from > count } };
    };
    const watched = await openWatched(chromium, api.baseUrl);
    const { page } = watched;
    await page.goto(await link());
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.goto(`${api.baseUrl}/#/traffic`);
    const rows = page.locator(".row-of-list");
    await rows.first().waitFor();
    const list = page.getByRole("list", { name: "Requests" });
    const size = async (): Promise<number> => Number(await rows.first().getAttribute("aria-setsize"));
    for (let known = await size(); known < 10_000; known = await size()) {
      await list.evaluate((one) => one.scrollTo(0, one.scrollHeight));
      await eventually(size, (now) => now > known);
      assert.ok((await rows.count()) < 120, String(await rows.count()));
    }
    await list.evaluate((one) => one.scrollTo(0, one.scrollHeight / 2));
    const middle = rows.filter({ hasText: "/5000" });
    await middle.waitFor();
    const topOf = async (): Promise<number> => Math.round((await middle.boundingBox())?.y ?? -1);
    const place = await topOf();
    last += 350;
    await eventually(
      async () =>
        await list
          .locator("li")
          .first()
          .evaluate((one) => one.clientHeight),
      (height) => height > 5_000 * 32,
    );
    assert.equal(await topOf(), place);
    await list.evaluate((one) => one.scrollTo(0, 0));
    await rows.filter({ hasText: "/10350" }).waitFor();
    assert.equal(await size(), 10_000, "the earliest are dropped");
    assert.ok((await rows.count()) < 120, String(await rows.count()));
    watched.assertQuiet();
    await watched.context.close();
    api.edge.answer = undefined;
  });

  it("the console at its limits opens over a mobile network (3G), and shows that it loads", async () => {
    const watched = await openWatched(chromium, api.baseUrl);
    const { page, context } = watched;
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 300,
      downloadThroughput: (1_600 * 1024) / 8,
      uploadThroughput: (750 * 1024) / 8,
    });
    await page.goto(await link(), { waitUntil: "commit" });
    await page.getByRole("status", { name: "Loading" }).or(page.locator("main[aria-busy]")).first().waitFor();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "Services" }).click();
    await page.getByRole("heading", { name: "Services", level: 1 }).waitFor();
    watched.assertQuiet();
    await context.close();
  });
});
