/** What people come to the console for, found by visible text only, with the number of clicks and filled fields. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startChromium } from "../support/chromium.ts";
import { enterConsole } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { openWatched } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { addAuthenticator } from "../support/virtual-authenticator.ts";

/** A person who reads the page, clicks on what it shows, and types into labelled fields. */
class Visitor {
  clicks = 0;
  fields = 0;
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async click(text: string | RegExp): Promise<void> {
    this.clicks += 1;
    const options = { name: text, exact: typeof text === "string" };
    const target = this.#page.getByRole("button", options).or(this.#page.getByRole("link", options));
    await target
      .or(this.#page.getByText(text, { exact: true }))
      .first()
      .click();
  }

  async fill(label: string, text: string): Promise<void> {
    this.fields += 1;
    await this.#page.getByLabel(label, { exact: true }).fill(text);
  }

  async pick(label: RegExp): Promise<void> {
    this.fields += 1;
    await this.#page.getByLabel(label).check();
  }

  async choose(label: string, option: string): Promise<void> {
    this.fields += 1;
    await this.#page.getByLabel(label, { exact: true }).selectOption(option);
  }

  async see(text: string | RegExp): Promise<void> {
    await this.#page.getByText(text).first().waitFor();
  }
}

describe("a person at the console", { skip: skipWithout("chromium"), timeout: 240_000 }, () => {
  let platform: TestPlatform;
  let service: HttpService;
  let chromium: Browser;
  let watched: WatchedPage;
  let shop: string;
  const begin = async (): Promise<Visitor> => {
    await watched.page.goto(`${platform.apiUrl}/#/overview`);
    await watched.page.getByRole("heading", { name: "Overview" }).waitFor();
    return new Visitor(watched.page);
  };
  const status = async (): Promise<number> => (await platform.request(`https://${shop}/cart`)).status;
  before(async () => {
    [platform, chromium] = await Promise.all([
      startPlatform({ drainMs: 50, allowLocalUpstreams: true }),
      startChromium(),
    ]);
    service = await startHttpService((_request, response) => response.end("the shop"));
    await platform.startAgent({ upstream: service.port, labels: { service: "shop" } });
    shop = `shop.localhost:${platform.httpsPort}`;
    watched = await enterConsole(chromium, platform);
  });
  after(async () => {
    await chromium?.close();
    await platform?.stop();
    await service?.stop();
  });

  it("a person at the console publishes a service with 2 clicks and 1 field", async () => {
    const visitor = await begin();
    await visitor.click("Publish a service");
    await visitor.fill("Public name and port", shop);
    await visitor.click("Apply");
    await visitor.see("An agent is online");
    await eventually(status, (code) => code === 200);
    assert.deepEqual([visitor.clicks, visitor.fields], [2, 1]);
  });

  it("a person at the console undoes a publication with 3 clicks, and nothing that it created is left", async () => {
    const kinds = ["/edges/https", "/backends/tunnel_group", "/ip_policies", "/ip_policy_rules", "/reserved_domains"];
    const counts = (): Promise<readonly number[]> =>
      Promise.all(
        kinds.map(async (path) => {
          const { body } = await platform.api("GET", `${path}?limit=100`);
          return (Object.values(body as object).find((value) => Array.isArray(value)) as readonly object[]).length;
        }),
      );
    const before = await counts();
    const visitor = await begin();
    await visitor.click("Publish a service");
    await visitor.fill("Public name and port", `mistake.localhost:${platform.httpsPort}`);
    await visitor.fill("Who has access", "192.0.2.0/24");
    await visitor.click("Apply");
    await visitor.see("Undo all of it …");
    const published = await counts();
    assert.ok(
      published.every((count, at) => count > Number(before[at])),
      String(published),
    );
    const undone = await begin();
    await undone.click("History");
    await undone.see(/Published mistake\.localhost/);
    await undone.click("Undo …");
    await undone.click("Go back");
    await undone.see("Done, as revision");
    assert.deepEqual([undone.clicks, undone.fields], [3, 0]);
    assert.deepEqual(await counts(), before);
    await eventually(
      async () => (await platform.request(`https://mistake.localhost:${platform.httpsPort}/`)).status,
      (code) => code === 404,
    );
  });

  it("a person at the console protects a service with a password with 3 clicks and 3 fields", async () => {
    const visitor = await begin();
    await visitor.click(shop);
    await visitor.click("Protect …");
    await visitor.choose("How visitors log in", "a password");
    await visitor.fill("User", "ada");
    await visitor.fill("Password", "long enough");
    await visitor.click("Apply");
    await eventually(status, (code) => code === 401);
    assert.deepEqual([visitor.clicks, visitor.fields], [3, 3]);
  });

  it("a person at the console undoes the change with 3 clicks", async () => {
    const visitor = await begin();
    await visitor.click("History");
    await visitor.click("Undo …");
    await visitor.click("Go back");
    await visitor.see("Done, as revision");
    await eventually(status, (code) => code === 200);
    assert.deepEqual([visitor.clicks, visitor.fields], [3, 0]);
  });

  it("a person at the console finds out why a visitor was denied, and lets the visitor in, with 3 clicks", async () => {
    const visitor = await begin();
    await visitor.click("Services");
    await visitor.click(new RegExp(shop));
    await visitor.click("Protect …");
    await visitor.fill("Who has access", "192.0.2.0/24");
    await visitor.click("Apply");
    await eventually(status, (code) => code === 403);
    const asked = await begin();
    await asked.click(/shop\.localhost\/cart.*/);
    await asked.see("no rule allows the source");
    const trace = watched.page.getByRole("article");
    assert.match(await trace.innerText(), /matched path_prefix/);
    assert.doesNotMatch((await trace.locator(".steps").innerText()) ?? "", /_[0-9a-z]{20,}/);
    await asked.click(/^Let 127\.0\.0\.1 pass/);
    await asked.click("Apply");
    await eventually(status, (code) => code === 200);
    assert.deepEqual([asked.clicks, asked.fields], [3, 0]);
  });

  it("a person at the console allows one country, and undoes it", async () => {
    const visitor = await begin();
    await visitor.click("Services");
    await visitor.click(new RegExp(shop));
    await visitor.click("Change …");
    await visitor.fill("Countries", "xx");
    await visitor.see("XX is not the two-letter code of a country, such as DE.");
    await visitor.fill("Countries", "de");
    await visitor.see("🇩🇪 Germany (DE)");
    await visitor.click("Apply");
    await eventually(status, (code) => code === 403);
    const undone = await begin();
    await undone.click("History");
    await undone.click("Undo …");
    await undone.click("Go back");
    await undone.see("Done, as revision");
    await eventually(status, (code) => code === 200);
  });

  it("a person at the console invites an agent with 2 clicks", async () => {
    const visitor = await begin();
    await visitor.click("Add an agent");
    await visitor.see("The code expires after");
    await watched.page.getByRole("main").getByRole("button", { name: "Invite an agent" }).click();
    await visitor.see(/npx postern join pj1_/);
    assert.equal(visitor.clicks + 1, 2);
  });

  it("a person at the console invites a colleague with 3 clicks and 2 fields, who comes in with 1 click", async () => {
    const visitor = await begin();
    await visitor.click("Access");
    await visitor.click("Invite a colleague");
    await visitor.fill("Email address", "ann@example.com");
    await visitor.pick(/^editor/);
    await visitor.click("Create link");
    await visitor.see("Send this link to ann@example.com");
    assert.deepEqual([visitor.clicks, visitor.fields], [3, 2]);
    const link = await watched.page.getByText(/#invite=/).innerText();
    const other = await openWatched(chromium, new URL(link).origin);
    await addAuthenticator(other.page);
    await other.page.goto(link);
    const colleague = new Visitor(other.page);
    await colleague.click("Create a passkey");
    await colleague.see("Overview");
    assert.deepEqual([colleague.clicks, colleague.fields], [1, 0]);
    await visitor.click("Done");
    await visitor.see("ann@example.com");
    other.assertQuiet();
    await other.context.close();
  });

  it("a person at the console sees what goes on while a slow network delivers the page, and when the server goes away", async () => {
    await watched.page.route("**/endpoints?*", async (route) => {
      await eventually(
        () => watched.page.getByRole("status", { name: "Loading" }).count(),
        (count) => count > 0,
      );
      await route.continue();
    });
    const visitor = await begin();
    await visitor.click("Services");
    await visitor.see(shop);
    await watched.page.unrouteAll({ behavior: "wait" });
    await watched.context.setOffline(true);
    await platform.restart();
    await watched.context.setOffline(false);
    await visitor.see(shop);
    watched.assertQuiet();
  });
});
