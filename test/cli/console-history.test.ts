/** The console's history in a real browser: changes in words, their authors, and how to undo them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { startChromium } from "../support/chromium.ts";
import { enterConsole, visitView } from "../support/console.ts";
import { assertAccessible } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import { startPlatform } from "../support/platform.ts";
import type { ApiBody, TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";

describe("the console's history", { skip: skipWithout("chromium") }, () => {
  let platform: TestPlatform;
  let chromium: Browser;
  let watched: WatchedPage;
  let page: Page;
  let edge: ApiBody;
  let host = "";

  const made = async (method: string, path: string, body?: unknown, key?: string): Promise<ApiBody> => {
    const answer = await platform.api(method, path, body, key);
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  };
  const entry = (text: string): Locator => page.getByRole("listitem").filter({ hasText: text }).first();
  const sentences = (): Promise<string[]> => page.locator(".entry-what strong").allInnerTexts();

  before(async () => {
    platform = await startPlatform();
    host = `shop.localhost:${platform.publicHttpsPort}`;
    edge = await made("POST", "/edges/https", { hostports: [host] });
    const deploy = await made("POST", "/api_keys", { description: "deploy" });
    const route = await made(
      "POST",
      `/edges/https/${edge.id}/routes`,
      { match_type: "path_prefix", match: "/admin", user_agent_filter: { allow: [], deny: ["bad"] } },
      deploy.token,
    );
    await made("PATCH", `/edges/https/${edge.id}/routes/${route.id}`, { compression: {} }, deploy.token);
    const policy = await made("POST", "/ip_policies", { description: "office" });
    await made("POST", "/ip_policy_rules", { ip_policy_id: policy.id, cidr: "203.0.113.0/24", action: "allow" });
    await made("PATCH", `/ip_policies/${policy.id}`, { description: "headquarters" });
    chromium = await startChromium();
    watched = await enterConsole(chromium, platform, { viewport: { width: 1280, height: 900 } });
    page = watched.page;
    await visitView(page, platform, "history");
    await page.locator(".entry").first().waitFor();
  });
  after(async () => {
    await chromium.close();
    await platform.stop();
  });

  it("the history describes each change in words, by its date, with its author's name", async () => {
    await page.getByRole("region", { name: "Today" }).waitFor();
    const all = await sentences();
    for (const wanted of [
      "Changed description of IP policy headquarters",
      "Allowed 203.0.113.0/24",
      "Created IP policy headquarters",
      `Changed compression of ${host}`,
      `Added route /admin of ${host}`,
      "Created API key deploy",
      `Published ${host}`,
      "Set up the server",
    ]) {
      assert.ok(all.includes(wanted), `${wanted}\n${all.join("\n")}`);
    }
    await entry("Added route /admin").getByText("by deploy from").waitFor();
    await entry(`Published ${host}`).getByText("by You").waitFor();
    await entry("Set up the server").getByText("by Postern").waitFor();
  });

  it("the history shows writes with the same reason as one change, and logins without a button", async () => {
    const reason = { "postern-reason": "move the office" };
    for (const description of ["one", "two"]) {
      const answer = await fetch(`${platform.apiUrl}/ip_policies`, {
        method: "POST",
        headers: {
          ...reason,
          "service-version": "2",
          "content-type": "application/json",
          authorization: `Bearer ${platform.apiKey}`,
        },
        body: JSON.stringify({ description }),
      });
      assert.equal(answer.status, 201);
    }
    const both = entry("move the office");
    await both.getByText("Created IP policy two, and 1 more change").waitFor();
    await both.locator("summary").click();
    await both.locator(".diff .added", { hasText: "two" }).waitFor();
    await both.locator(".diff .added", { hasText: "one" }).waitFor();
    await both.getByRole("button", { name: "Undo" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("delete", { exact: true }).nth(1).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await entry("Logged in to the console").waitFor();
    assert.equal(await entry("Logged in to the console").getByRole("button", { name: "Undo" }).count(), 0);
  });

  it("the history undoes the last change and an earlier one, after it has shown what that changes", async () => {
    const policies = async (): Promise<string[]> =>
      (await made("GET", "/ip_policies")).ip_policies.map((one: ApiBody) => one.description).toSorted();
    const dialog = page.getByRole("dialog");
    const goBack = async (): Promise<void> => {
      await dialog.getByRole("button", { name: "Go back", exact: true }).click();
      await dialog.getByText("Done, as revision").waitFor();
      await dialog.getByRole("button", { name: "Close" }).last().click();
    };
    assert.deepEqual(await policies(), ["headquarters", "one", "two"]);
    await entry("move the office").getByRole("button", { name: "Undo" }).click();
    await dialog.locator(".diff").first().waitFor();
    assert.equal(await dialog.getByText("This also undoes every later change").count(), 0);
    await goBack();
    assert.deepEqual(await policies(), ["headquarters"]);
    await page.getByText(/^Went back to revision \d+$/).waitFor();
    await entry("Changed description of IP policy").getByRole("button", { name: "Undo" }).click();
    await dialog.getByText("This also undoes every later change").waitFor();
    await goBack();
    assert.deepEqual(await policies(), ["office"]);
  });

  it("the history shows controls and invisible characters of names as symbols", async () => {
    await made("POST", "/ip_policies", { description: "a\u202eb\u200bc\u0007d\ufefff" });
    await page.getByText("Created IP policy a[U+202E]b[U+200B]c[U+0007]d[U+FEFF]f").waitFor();
  });

  it("the history fits phones, and is accessible in both themes", async () => {
    for (const width of [390, 1280, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, String(width));
    }
    for (const colours of ["dark", "light"]) {
      await page.getByRole("button", { name: `Use ${colours} colours` }).click();
      await assertAccessible(page, `history in ${colours} colours`);
    }
    watched.assertQuiet();
  });
});
