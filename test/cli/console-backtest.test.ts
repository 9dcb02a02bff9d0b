/** The console tries a change on captured requests before it is made. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { startChromium } from "../support/chromium.ts";
import { enterConsole, visitView } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import type { WatchedPage } from "../support/pages.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";

describe("backtests in the console", { skip: skipWithout("chromium"), timeout: 240_000 }, () => {
  let chromium: Browser;
  let platform: TestPlatform;
  let watched: WatchedPage;
  let ruleId = "";

  before(async () => {
    platform = await startPlatform();
    chromium = await startChromium();
    watched = await enterConsole(chromium, platform);
    const make = async (path: string, body: object): Promise<string> => {
      const made = await platform.api("POST", path, body);
      assert.equal(made.status, 201, made.text);
      return made.body.id;
    };
    const ip_policy_id = await make("/ip_policies", {});
    ruleId = await make("/ip_policy_rules", { ip_policy_id, cidr: "127.0.0.0/8", action: "allow" });
    const backend_id = await make("/backends/http_response", { status_code: 200, body: "hello" });
    const edge = await make("/edges/https", { hostports: ["shop.backtest.test:443"], capture: {} });
    await make(`/edges/https/${edge}/routes`, {
      match_type: "path_prefix",
      match: "/",
      backend: { backend_id },
      ip_restriction: { ip_policy_ids: [ip_policy_id] },
    });
    for (const path of ["/a", "/b"]) {
      assert.equal((await platform.request(`https://shop.backtest.test${path}`)).status, 200);
    }
    await eventually(
      async () => (await platform.api("GET", "/requests?since=1h")).body.requests as { captured: boolean }[],
      (list) => list.filter(({ captured }) => captured).length === 2,
    );
  });

  after(async () => {
    await chromium?.close();
    await platform?.stop();
  });

  it("the console shows beside the diff which requests a change would deny, with both explanations", async () => {
    const { page } = watched;
    await visitView(page, platform, `objects/ip_policy_rule/${ruleId}`);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.locator("#field-cidr").fill("192.0.2.0/24");
    await page.getByRole("button", { name: "Review …" }).click();
    await page.getByRole("button", { name: "Try on the last 24 hours" }).click();
    await page.getByText("2 requests tried: 2 different, 0 unknown").waitFor();
    await page.getByText("GET shop.backtest.test/a").click();
    await page
      .getByRole("region", { name: "With this change" })
      .getByText("no rule allows the source")
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Back" }).click();
    const { body } = await platform.api("GET", `/ip_policy_rules/${ruleId}`);
    assert.equal(body.cidr, "127.0.0.0/8");
  });
});
