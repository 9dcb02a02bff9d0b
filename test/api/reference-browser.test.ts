/** The reference page at `/docs` in a real browser: search, colors and links to operations. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { startChromium } from "../support/chromium.ts";
import { databases } from "../support/postgres.ts";
import { skipWithout } from "../support/programs.ts";

describe("the reference page in a browser", { skip: skipWithout("chromium"), timeout: 120_000 }, () => {
  let api: TestApi;
  let chromium: Browser;
  let page: Page;
  const faults: string[] = [];
  const requested: string[] = [];
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number]);
    chromium = await startChromium();
    page = await chromium.newPage({ colorScheme: "light" });
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    page.on("request", (request) => requested.push(new URL(request.url()).pathname));
    await page.goto(`${api.baseUrl}/docs`);
  });
  after(async () => {
    await chromium.close();
    await api.stop();
  });

  it("the reference page in a browser finds operations, objects and errors by their words", async () => {
    const shown = () => page.locator("main [data-entry]:visible").count();
    const all = await shown();
    await page.keyboard.press("/");
    await page.keyboard.type("create ip policy rule");
    await page.locator("#createAPIKey").waitFor({ state: "hidden" });
    assert.ok((await shown()) < all / 4);
    assert.equal(await page.locator("#createIPPolicyRule").isVisible(), true);
    assert.match((await page.locator("#count").textContent()) ?? "", /^\d+ results?$/);
    await page.locator("#search").fill(errorCode("source_denied").toLowerCase());
    await page.locator("#createIPPolicyRule").waitFor({ state: "hidden" });
    assert.equal(await page.locator("#error-source_denied").isVisible(), true);
    await page.locator("#search").press("Escape");
    await page.locator("#createAPIKey").waitFor();
    assert.equal(await shown(), all);
  });

  it("the reference page in a browser switches its colors and remembers the choice", async () => {
    const background = () => page.evaluate("getComputedStyle(document.querySelector('#search')).backgroundColor");
    const light = await background();
    const button = page.getByRole("button", { name: /^Colors/ });
    assert.equal(await button.textContent(), "Colors: auto");
    await button.click();
    await button.click();
    assert.equal(await button.textContent(), "Colors: dark");
    assert.notEqual(await background(), light);
    await page.reload();
    assert.equal(await button.textContent(), "Colors: dark");
    assert.notEqual(await background(), light);
  });

  it("the reference page in a browser opens the operation that a link names", async () => {
    await page.goto(`${api.baseUrl}/docs#createCredential`);
    await page.locator("#createCredential[open]").waitFor();
    await page.evaluate("location.hash = 'getHealth'");
    await page.locator("#getHealth[open]").waitFor();
  });

  it("the reference page in a browser links to the console, loads nothing else and reports no error", async () => {
    assert.equal(await page.getByRole("link", { name: "← Console" }).getAttribute("href"), "/");
    assert.deepEqual(
      requested.filter((path) => path !== "/docs" && path !== "/favicon.ico"),
      [],
    );
    assert.deepEqual(
      faults.filter((fault) => !fault.includes("favicon") && !fault.includes("404")),
      [],
    );
  });
});
