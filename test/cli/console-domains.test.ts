/** "Everyone at acme.com" for a cloud endpoint: the console writes the rule, and the edge follows it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Locator } from "playwright-core";
import { startChromium } from "../support/chromium.ts";
import { enterConsole, visitView } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import type { WatchedPage } from "../support/pages.ts";
import { skipWithout } from "../support/programs.ts";

const greeting = { on_http_request: [{ actions: [{ type: "custom-response", config: { status_code: 200 } }] }] };
/** Any organization can write any address into its accounts. */
const tenant = "5d6b1c9e-3a2f-4b7d-8c1e-9f0a2b3c4d5e";
const verified = { edov: true, verified: true };
const visitors = [
  { email: "ada@acme.com", ...verified, status: 200 },
  { email: "Ada@Acme.Com", ...verified, status: 200 },
  { email: "eve@other.com", ...verified, status: 403 },
  { email: "eve@acmeXcom", ...verified, status: 403 },
  { email: "eve@evil.acme.com", ...verified, status: 403 },
  { email: "eve@acme.com", edov: false, verified: false, status: 403 },
] as const;

describe("e-mail domains in the console", { skip: skipWithout("chromium"), timeout: 240_000 }, () => {
  let world: LoginWorld;
  let chromium: Browser;
  let watched: WatchedPage;
  before(async () => {
    [world, chromium] = await Promise.all([startLoginWorld(), startChromium()]);
    watched = await enterConsole(chromium, world.platform);
  });
  after(async () => {
    await chromium?.close();
    await world?.stop();
  });
  const who = (): Locator => watched.page.getByRole("region", { name: "Who may reach it" });
  const protect = async (fill: (dialog: Locator) => Promise<void>): Promise<void> => {
    await who().getByRole("button").click();
    const dialog = watched.page.getByRole("dialog");
    await fill(dialog);
    await dialog.getByRole("button", { name: "Apply" }).click();
    await dialog.waitFor({ state: "detached" });
  };

  it("I5: e-mail domains in the console allow people with a verified address there at a cloud endpoint, and no one else", async () => {
    const { platform, providers } = world;
    const url = `https://hello.localhost:${platform.httpsPort}`;
    const made = await platform.api("POST", "/endpoints", {
      type: "cloud",
      url,
      traffic_policy: JSON.stringify(greeting),
    });
    await visitView(watched.page, platform, `services/endpoint/${made.body.id}`);
    await protect(async (dialog) => {
      await dialog.getByLabel("How visitors log in").selectOption("Microsoft");
      await dialog.getByLabel("Only people at").fill("acme.com");
    });
    await who().getByText("people at acme.com signed in with Microsoft").waitFor();
    const statusOf = async ({ email, edov, verified: isVerified }: (typeof visitors)[number]): Promise<number> => {
      providers.person = { id: "4711", name: "Ada", login: "ada", email, verified: isVerified, edov, tenant };
      return (await world.browser().visit(`${url}/`)).status;
    };
    await eventually(
      () => statusOf(visitors[0]),
      (status) => status === 200,
    );
    const statuses: (readonly [string, number])[] = [];
    for (const one of visitors) statuses.push([one.email, await statusOf(one)]);
    assert.deepEqual(
      statuses,
      visitors.map(({ email, status }) => [email, status]),
    );
    // The form shows the domains, and changes them.
    await protect(async (dialog) => {
      assert.equal(await dialog.getByLabel("How visitors log in").inputValue(), "microsoft");
      assert.equal(await dialog.getByLabel("Only people at").inputValue(), "acme.com");
      await dialog.getByLabel("Only people at").fill("other.com");
    });
    await who().getByText("people at other.com signed in with Microsoft").waitFor();
    await eventually(
      () => statusOf(visitors[0]),
      (status) => status === 403,
    );
    assert.equal(await statusOf(visitors[2]), 200);
    watched.assertQuiet();
  });
});
