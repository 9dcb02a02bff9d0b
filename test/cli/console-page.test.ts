/** The console in a real browser, on a real platform. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { parse } from "yaml";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { consoleAccess } from "../../src/settings/kinds/console-access.ts";
import { startChromium } from "../support/chromium.ts";
import { runCommand } from "../support/command.ts";
import { skipWithout } from "../support/programs.ts";
import { enterConsole, visitView } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/connections.ts";
import { startOpenIdProvider } from "../support/openid.ts";
import type { OpenIdProvider } from "../support/openid.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import { assertAccessible, assertFits, openWatched } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const hostile = `"><img src=x onerror="alert('ran')"><script>alert("ran")</script>{{7*7}}`;
const views = [
  "invite",
  "overview",
  "services",
  "traffic",
  "edges",
  "publish",
  "explain",
  "history",
  "logins",
  "webhooks",
  "events",
  "access",
  "machines",
  "settings",
  "objects",
  "objects/ip_policy",
  "objects/api_key/new",
];

describe("the console's page", { skip: skipWithout("chromium"), timeout: 240_000 }, () => {
  const opened: WatchedPage[] = [];
  let platform: TestPlatform;
  let provider: OpenIdProvider;
  let service: HttpService;
  let agent: OurAgent;
  let chromium: Browser;
  let page: Page;
  let shop: string;
  before(async () => {
    const port = await freePort();
    provider = await startOpenIdProvider(() => ({
      clientId: "console",
      clientSecret: "a-secret-of-tests",
      redirectUris: [`http://127.0.0.1:${port}/console/callback`],
    }));
    const team = {
      apiListen: { host: "127.0.0.1", port },
      consoleOidcIssuer: provider.issuer,
      consoleOidcClientId: "console",
      consoleOidcClientSecret: "a-secret-of-tests",
      consoleAccess: [consoleAccess.parse("ada@example.com=viewer")],
    };
    [platform, chromium] = await Promise.all([
      startPlatform({ drainMs: 50, allowLocalUpstreams: true, ...team }),
      startChromium(),
    ]);
    service = await startHttpService((_request, response) => response.end("the shop"));
    agent = await platform.startAgent({ upstream: service.port, labels: { service: "shop" } });
    shop = `shop.localhost:${platform.httpsPort}`;
    page = await enter();
  });
  after(async () => {
    await chromium?.close();
    await platform?.stop();
    await service?.stop();
    await provider?.stop();
  });

  const link = async (): Promise<string> => (await platform.api("POST", "/console_links")).body.url;
  const enter = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const watched = await enterConsole(chromium, platform, options);
    opened.push(watched);
    return watched.page;
  };
  const visit = (view: string, of = page): Promise<void> => visitView(of, platform, view);
  const button = (name: string | RegExp, of = page) =>
    of.getByRole("button", { name, exact: typeof name === "string" });
  const routeId = async (): Promise<[edgeId: string, routeId: string]> => {
    const { body } = await platform.api("GET", "/edges/https");
    const edge = body.https_edges.find((one: { hostports: string[] }) => one.hostports.includes(shop));
    return [edge.id, edge.routes[0].id];
  };
  const assertQuiet = (): void => opened.forEach((one) => one.assertQuiet());

  it("P10: the console's page logs in with a single-use link, and leaves no code in the address and no key in the page", async () => {
    const used = await link();
    const { page: first, context } = await openWatched(chromium, platform.apiUrl);
    await first.goto(used);
    await first.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(new URL(first.url()).hash, "#/");
    await first.getByRole("region", { name: "First steps" }).waitFor();
    await assertAccessible(first, "the first steps");
    await context.close();
    const { page: second, context: other } = await openWatched(chromium, platform.apiUrl);
    await second.goto(used);
    await second.getByText("was already used").waitFor();
    await assertAccessible(second, "logging in");
    await second.getByLabel("Or an API key").fill(platform.apiKey);
    await button("Log in", second).click();
    await second.getByRole("heading", { name: "Overview" }).waitFor();
    const kept = await second.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])");
    assert.ok(!String(kept).includes(platform.apiKey) && String(kept).endsWith(`,""]`), String(kept));
    await button("Log out", second).click();
    await second.getByText("You are logged out.").waitFor();
    await other.close();
  });

  it("P12: the console's page logs in with the team's identity provider, names the person, and offers only what the role allows", async () => {
    const { page: other, context } = await openWatched(chromium, platform.apiUrl);
    await other.goto(platform.apiUrl);
    await other.getByRole("link", { name: `Log in with ${new URL(provider.issuer).host}` }).click();
    await other.locator("input[name=login]").fill("ada");
    await other.locator("input[name=password]").fill("x");
    await other.locator("button[type=submit]").click();
    await other.locator("button[type=submit]").click();
    await other.getByRole("heading", { name: "Overview" }).waitFor();
    await other.getByText("ada@example.com (viewer)").waitFor();
    await other.goto(`${platform.apiUrl}/#/objects/ip_policy/new`);
    await button("Review …", other).click();
    await other.getByRole("alert").getByText("scope").first().waitFor();
    assert.ok(await button("Apply", other).isDisabled());
    await context.close();
  });

  it("the console's page publishes a service with rules, shows a denied request live with its reason, and unpublishes the service", async () => {
    await visit("publish");
    const checks = page.getByRole("list", { name: "Checks" });
    await page.getByLabel("Public name and port").fill("not a name");
    await page.getByRole("alert").getByText("Enter a public name, such as shop.example.com.").waitFor();
    assert.ok(await button("Apply").isDisabled(), "nothing can be applied while a field is invalid");
    await page.getByLabel("Public name and port").fill(shop);
    await page.getByLabel("Who has access").fill("192.0.2.0/240/1");
    await page.getByRole("alert").getByText("192.0.2.0/240/1 is not an address or a range").waitFor();
    assert.ok(await button("Apply").isDisabled());
    await page.getByLabel("Who has access").fill("192.0.2.0/24");
    await page.getByText("Details: changes and API call").click();
    await page.getByRole("region", { name: "create ip_policy_rule" }).getByText("192.0.2.0/24").waitFor();
    await checks.getByText("The server accepts the service").waitFor();
    await button("Apply").click();
    await page.getByText("--label service=shop").waitFor();
    await page.getByText("An agent is online").waitFor();
    await page.getByRole("link", { name: "Watch traffic" }).click();
    await page.getByText("No recent requests").waitFor();
    await page.goBack();
    await page.getByText("Requests appear here when they end.").waitFor();
    assert.equal((await platform.request(`https://${shop}/cart`)).status, 403);
    await page.getByRole("link", { name: "no rule allows the source" }).click();
    await page.getByText("no rule allows the source").waitFor();
    await page.getByRole("link", { name: "Let 127.0.0.1 pass" }).click();
    await eventually(
      () => page.locator("#field-cidr").inputValue(),
      (value) => value === "127.0.0.1/32",
    );
    await button("Apply").click();
    // Back at the request, with its outcome under the current configuration. The form is not in the back history.
    await page.getByRole("region", { name: "Now" }).getByText("forwarded").waitFor();
    const { body } = await platform.api("GET", "/ip_policy_rules?limit=1");
    await platform.api("DELETE", `/ip_policy_rules/${body.ip_policy_rules[0].id}`);
    await page.goBack();
    await page.getByLabel("Filter requests").fill("/car");
    await page.getByRole("button", { name: /GET .*\/cart/ }).waitFor();
    await page.getByLabel("Outcome").selectOption("forwarded");
    await page.getByText("No stored request matches the filter.").waitFor();
    await page.getByLabel("Outcome").selectOption("");
    await page.getByText("More conditions").click();
    await page.getByLabel("Module").fill("ip_restriction");
    await page.getByRole("button", { name: /GET .*\/cart/ }).waitFor();
    await page.getByLabel("Status").fill("200");
    await page.getByText("No stored request matches the filter.").waitFor();

    await page.getByRole("link", { name: "The route" }).click();
    const stands = page.getByRole("region", { name: "Status" });
    await stands.getByText("certificate from the server's own CA").waitFor();
    await stands.getByText("served", { exact: true }).waitFor();
    const module = (name: string) => page.getByRole("listitem").filter({ hasText: name });
    await module("Compression").getByRole("button", { name: "Set" }).click();
    await button("Review …").click();
    await page.locator(".diff .added", { hasText: "compression" }).waitFor();
    await page.getByLabel("Why").fill("smaller answers");
    await button("Apply").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByLabel("IP restriction is applied").click();
    await page.locator(".diff .removed", { hasText: "enabled: true" }).waitFor();
    await page.locator(".diff .added", { hasText: "enabled: false" }).waitFor();
    await button("Apply").click();
    await module("IP restriction").getByText("disabled").waitFor();
    assert.equal((await platform.request(`https://${shop}/cart`)).text, "the shop");

    await visit("explain");
    await page.getByLabel("Source address").fill("203.0.113.9");
    await button("Explain").click();
    await page.getByRole("region", { name: "Explanation" }).getByText("forwarded").waitFor();

    await visit("history");
    await page.getByText("smaller answers").click();
    await page.locator("li", { hasText: "smaller answers" }).getByRole("button", { name: "Go back to this" }).click();
    await page.getByRole("dialog").locator(".diff .added", { hasText: "ip_restriction" }).waitFor();
    assert.equal((await platform.request(`https://${shop}/cart`)).status, 200, "a rehearsal changes nothing");
    await button("Go back").click();
    await page.getByText("Done, as revision").waitFor();
    assert.equal((await platform.request(`https://${shop}/cart`)).status, 403);
    await button("Close", page).last().click();
    assertQuiet();
  });

  it("the console's page lists the public address of any object as a service, with who may reach it, where it leads and its last request", async () => {
    const made = async (path: string, body: object): Promise<string> => {
      const { status, body: answer } = await platform.api("POST", path, body);
      assert.equal(status, 201, JSON.stringify(answer));
      return String(answer.id);
    };
    const backend = { backend: { backend_id: await made("/backends/tunnel_group", { labels: { app: "nobody" } }) } };
    const tls = await made("/edges/tls", { hostports: [`mqtt.localhost:${platform.httpsPort}`], ...backend });
    await visit("services");
    const row = (text: string) => page.getByRole("listitem").filter({ hasText: text });
    await row(shop).getByText("from allowed addresses").waitFor();
    await row(shop).getByText("1 agent").waitFor();
    await row(shop)
      .getByText(/^(?:200|403)$/)
      .waitFor();
    await row("tls://mqtt.localhost").getByText("no agent is online").waitFor();
    await assertAccessible(page, "services");
    await page.getByLabel("Filter").fill("mqtt");
    await row(shop).waitFor({ state: "detached" });
    await row("tls://mqtt.localhost").getByRole("link").click();
    await page.getByRole("region", { name: "Who may reach it" }).getByText("everyone").waitFor();
    await assertAccessible(page, "a service at a TLS edge");
    await platform.api("DELETE", `/edges/tls/${tls}`);
    await visit("services");
    await row(shop).getByRole("link").click();
    await page.getByRole("region", { name: "Where it leads" }).getByText("1 agent").waitFor();
    await page.getByRole("region", { name: "Recent requests" }).getByText("/cart").first().waitFor();
    assertQuiet();
  });

  it("the console's page protects a published service with a password, and keeps its other rules", async () => {
    const [edgeId, id] = await routeId();
    const { body: first } = await platform.api("GET", `/edges/https/${edgeId}/routes/${id}`);
    const { revision } = (await platform.api("GET", "/revisions?limit=1")).body.revisions[0];
    await visit(`edges/${edgeId}`);
    await button("Change …").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("How visitors log in").selectOption("a password");
    await dialog.getByLabel("User").fill("ada");
    await dialog.getByLabel("Password").fill("short");
    await dialog.getByText("Enter a password of 8 to 128 characters.").waitFor();
    assert.ok(await button("Apply").isDisabled());
    const password = "long ${enough}: yes";
    await dialog.getByLabel("Password").fill(password);
    await dialog.getByLabel("Who has access").fill("127.0.0.0/8");
    await assertAccessible(page, "protecting a service", "dialog");
    await button("Apply").click();
    await dialog.waitFor({ state: "detached" });
    const login = `Basic ${Buffer.from(`ada:${password}`).toString("base64")}`;
    await eventually(
      async () => (await platform.request(`https://${shop}/cart`)).status,
      (status) => status === 401,
    );
    assert.equal((await platform.request(`https://${shop}/cart`, { headers: { authorization: login } })).status, 200);
    const { body: now } = await platform.api("GET", `/edges/https/${edgeId}/routes/${id}`);
    assert.equal(now.ip_restriction.ip_policies.length, first.ip_restriction.ip_policies.length);
    assert.notDeepEqual(now.ip_restriction.ip_policies, first.ip_restriction.ip_policies);
    assert.deepEqual(now.compression, first.compression);
    assert.equal((await platform.api("POST", `/revisions/${revision}/rollback`, {})).status, 200);
    assertQuiet();
  });

  it("the console's page creates an object that a form needs in place, and selects it", async () => {
    await visit("objects/ip_policy_rule/new");
    const select = page.locator("#field-ip_policy_id");
    await select.selectOption("New IP policy …");
    const dialog = page.getByRole("dialog", { name: "New IP policy" });
    await dialog.getByLabel("Description").fill("made in place");
    await assertAccessible(page, "a form above a form", "dialog");
    await dialog.getByRole("button", { name: "Review …" }).click();
    await button("Apply").click();
    await dialog.waitFor({ state: "detached" });
    await eventually(
      () => select.locator("option:checked").innerText(),
      (text) => text === "made in place",
    );
    await page.getByRole("heading", { name: "New IP policy rule" }).waitFor();
    assertQuiet();
  });

  it("P7: the console's page bases an immediate second change on the user's own first one", async () => {
    const [edgeId, id] = await routeId();
    await visit(`edges/${edgeId}`);
    const isApplied = (name: string) => page.getByLabel(`${name} is applied`);
    await isApplied("Compression").waitFor();
    const isRead = Promise.withResolvers<void>();
    await page.route(`**/routes/${id}`, async (route) => {
      if (route.request().method() === "GET") await isRead.promise;
      await route.continue();
    });
    for (const name of ["Compression", "IP restriction", "IP restriction", "Compression"]) {
      await isApplied(name).click();
      await button("Apply").click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    isRead.resolve();
    await page.unrouteAll({ behavior: "wait" });
    assertQuiet();
  });

  it("P7: the console's page shows both changes side by side after a conflict, and overwrites nothing", async () => {
    const [edgeId, id] = await routeId();
    await visit(`edges/${edgeId}`);
    await page.getByRole("listitem").filter({ hasText: "Compression" }).getByRole("button", { name: "Edit" }).click();
    await platform.api("PATCH", `/edges/https/${edgeId}/routes/${id}`, { description: "by somebody else" });
    await page.getByRole("dialog").getByRole("checkbox").first().uncheck();
    await button("Review …").click();
    await page.getByRole("region", { name: "Their changes" }).getByText("by somebody else").first().waitFor();
    await page.getByRole("region", { name: "Your changes" }).locator(".added", { hasText: "enabled: false" }).waitFor();
    await button("Apply my changes to their version").click();
    await button("Apply").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const { body } = await platform.api("GET", `/edges/https/${edgeId}/routes/${id}`);
    assert.deepEqual([body.description, body.compression.enabled], ["by somebody else", false]);
  });

  it("the console's page offers the parts of a policy, shows faults at their place, and tests the policy before it applies it", async () => {
    const [edgeId, id] = await routeId();
    const isAsked = Promise.withResolvers<void>();
    await page.route("**/assets/code-editor-*.js", async (route) => {
      await isAsked.promise;
      await route.continue();
    });
    await visit(`edges/${edgeId}`);
    await page
      .getByRole("listitem")
      .filter({ hasText: "Traffic policy" })
      .getByRole("button", { name: "Set", exact: true })
      .click();
    const editor = page.getByRole("textbox", { name: "Policy" });
    const offer = (text: string) => page.locator(".cm-tooltip-autocomplete li", { hasText: text });
    // The editor contains the choice from before it was loaded.
    await page.getByLabel("Start with an example").selectOption("Redirect to another address");
    isAsked.resolve();
    await editor.getByText("redirect").waitFor();
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("on_http_request:\n- expressions:\n    - req.url.pat");
    await offer("path").first().click();
    await page.keyboard.type(".startsWit");
    await offer("string.startsWith(string) -> bool").click();
    await page.keyboard.type("(1)");
    const wrong = page.getByLabel("Errors in the policy");
    await wrong.getByText("startsWith").waitFor();
    assert.match(await wrong.innerText(), /^\s*3:\d+\s/);
    await assertAccessible(page, "the editor of policies");
    await page.getByLabel("Start with an example").selectOption("Admit addresses");
    await eventually(
      () => wrong.innerText(),
      (text) => text.trim() === "",
    );
    await page.getByText("Test with a request").click();
    await page.getByRole("dialog").getByLabel("Source address").fill("198.51.100.7");
    await button("Try it").click();
    const told = page.getByRole("region", { name: "Result of the policy" });
    await told.getByText("no rule allows the source").waitFor();
    await page.getByRole("dialog").getByLabel("Source address").fill("192.0.2.9");
    await button("Try it").click();
    await told.getByText("allowed by 192.0.2.0/24").first().waitFor();
    await button("Test with past requests").click();
    await page.getByText(/^\d+ tested: /).waitFor();
    await button("Review …").click();
    await page.locator(".diff .added", { hasText: "restrict-ips" }).waitFor();
    await button("Apply").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const { body } = await platform.api("GET", `/edges/https/${edgeId}/routes/${id}`);
    assert.match(body.traffic_policy.value, /restrict-ips/);
    await platform.api("DELETE", `/edges/https/${edgeId}/routes/${id}/traffic_policy`);
    assertQuiet();
  });

  it("the console's page displays characters that change the writing direction, and does not obey them", async () => {
    const { body } = await platform.api("POST", "/ip_policies", { description: "exe\u202egnp.\u2066" });
    await visit("objects/ip_policy");
    await page.getByText("exe[U+202E]gnp.[U+2066]").first().waitFor();
    assert.doesNotMatch(await page.locator("body").innerText(), /[\u202e\u2066]/);
    await platform.api("DELETE", `/ip_policies/${body.id}`);
  });

  it("the console's page creates an object with a form from the description, shows a fault at its field, and shows a key once", async () => {
    await visit("objects/ip_policy");
    await page.getByRole("link", { name: "access to shop" }).click();
    const rules = page.getByRole("region", { name: "IP policy rules" });
    await rules.getByText("192.0.2.0/24").waitFor();
    await rules.getByRole("link", { name: "Add" }).click();
    await page.locator("#field-cidr").fill("300.0.0.0/8");
    await page.locator("#field-action").selectOption("allow");
    await button("Review …").click();
    await page.locator(".fault").first().waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0, "the form shows the fault, and nothing can be applied");
    assert.doesNotMatch(await page.getByRole("main").innerText(), /op_|ERR_|createIP/);
    await page.locator("#field-cidr").fill("198.51.100.0/24");
    await button("Review …").click();
    await page.getByText("The server accepts this change.").waitFor();
    await button("Apply").click();
    await page.getByRole("heading", { name: "198.51.100.0/24" }).waitFor();
    await visit("objects/api_key/new");
    await page.locator("#field-description").fill("for the tests");
    await button("Review …").click();
    await button("Apply").click();
    const token = await page.locator(".command code").innerText();
    assert.match(token, /^postern_ak_/);
    await page.getByRole("link", { name: "I have it" }).click();
    await page.getByRole("heading", { name: "for the tests" }).waitFor();
    assert.ok(!(await page.content()).includes(token));
  });

  it("the console's page invites an agent with a join command, and shows when the code expires", async () => {
    await visit("invite");
    await page.getByLabel("Machines").fill("2");
    await button("Invite an agent").click();
    const shown = page.getByRole("status", { name: "The code" });
    const command = await shown.locator(".command code").innerText();
    assert.match(command, /^npx postern join pj1_[\w-]{80,}$/);
    await shown.getByText("It works for 2 machines, until").waitFor();
    const [newest] = (await platform.api("GET", "/agent_invitations")).body.agent_invitations;
    const expiresAt = await shown.locator("time").getAttribute("datetime");
    assert.equal(new Date(String(expiresAt)).getTime(), new Date(newest.expires_at).getTime());
    assert.deepEqual([newest.uses, newest.code], [2, null]);
    await assertAccessible(page, "invite, with a code");
    const home = mkdtempSync(join(tmpdir(), "postern-joining-"));
    const joined = await runCommand(["join", String(command.split(" ").at(-1))], { env: { XDG_CONFIG_HOME: home } });
    assert.equal(joined.code, 0, joined.stderr);
    rmSync(home, { recursive: true });
    await visit("objects/agent_invitation/new");
    await page.locator("#field-description").fill("for build machines");
    await button("Review …").click();
    await button("Apply").click();
    assert.match(await page.locator(".command code").innerText(), /^npx postern join pj1_/);
  });

  it("the console's page shows what passes an IP policy, an agent token's ACL and a key's scopes, and who uses what", async () => {
    const policies = await platform.api("GET", "/ip_policies");
    const office = policies.body.ip_policies.find(({ description }: { description: string }) =>
      description.startsWith("access to"),
    );
    const { body: token } = await platform.api("POST", "/credentials", { acl: ["bind:*.shop.example"] });
    const { body: key } = await platform.api("POST", "/api_keys", { scopes: ["read"] });
    const asked = [
      [`ip_policy/${office.id}`, "Address", "192.0.2.9", "yes"],
      [`ip_policy/${office.id}`, "Address", "203.0.113.9", "no"],
      [`credential/${token.id}`, "Host, host:port or key=value", "a.shop.example", "yes"],
      [`credential/${token.id}`, "Host, host:port or key=value", "shop.example", "no"],
      [`api_key/${key.id}`, "Operation", "listIPPolicies", "yes"],
      [`api_key/${key.id}`, "Operation", "createIPPolicy", "no"],
    ] as const;
    for (const [path, label, text, verdict] of asked) {
      await visit(`objects/${path}`);
      await page
        .getByRole("textbox", { name: label, exact: true })
        .or(page.getByRole("combobox", { name: label, exact: true }))
        .fill(text);
      await button("Ask").click();
      await page.getByRole("status").getByText(verdict, { exact: true }).waitFor();
    }
    const [edgeId, id] = await routeId();
    await visit(`objects/ip_policy/${office.id}`);
    await page.getByRole("region", { name: "Used by" }).getByRole("link").click();
    await page.waitForURL(`**/#/edges/${edgeId}/${id}`);
  });

  it("the console's page signs a sample webhook, and shows whether it would pass, also if changed in transit", async () => {
    const [edgeId] = await routeId();
    const { body: route } = await platform.api("POST", `/edges/https/${edgeId}/routes`, {
      match_type: "path_prefix",
      match: "/hook",
      webhook_verification: { provider: "github", secret: "s3cret" },
    });
    await visit("webhooks");
    await page.getByLabel("Route").waitFor();
    assert.deepEqual(await page.getByLabel("Route").locator("option").allInnerTexts(), [`${shop}/hook (github)`]);
    const verdict = page.getByRole("region", { name: "Verdict" });
    const verified = verdict.getByRole("listitem").filter({ hasText: "Webhook verification" });
    await button("Sign and check").click();
    await verified.getByText("passed", { exact: true }).waitFor();
    await page.getByLabel("changed in transit").check();
    await button("Sign and check").click();
    await verified.getByText("denied", { exact: true }).waitFor();
    await platform.api("DELETE", `/edges/https/${edgeId}/routes/${route.id}`);
  });

  it("the console's page shows what to register at a provider, the state of event deliveries, and the data that is sent", async () => {
    const [edgeId] = await routeId();
    const { body: route } = await platform.api("POST", `/edges/https/${edgeId}/routes`, {
      match_type: "path_prefix",
      match: "/staff",
      oidc: { issuer: "https://login.example.com", client_id: "c", client_secret: "s" },
    });
    await visit("logins");
    await page.getByText(/^https:\/\/idp\.\S+\/oauth2\/callback\/\w+$/).waitFor();
    await page.getByText("No logins yet.").waitFor();
    await platform.api("DELETE", `/edges/https/${edgeId}/routes/${route.id}`);
    const { body: destination } = await platform.api("POST", "/event_destinations", {
      description: "a log",
      target: { file: { name: "events.jsonl" } },
    });
    assert.ok(destination.id, JSON.stringify(destination));
    await platform.api("POST", "/event_subscriptions", {
      sources: [{ type: "ip_policy_created.v0" }],
      destination_ids: [destination.id],
    });
    await visit("events");
    await page.getByRole("link", { name: "Watch sent events" }).click();
    await platform.api("POST", "/ip_policies", { description: "told of" });
    const sent = page.getByRole("region", { name: "Sent recently" });
    await sent.locator("summary", { hasText: "ip_policy_created.v0" }).click();
    await sent.getByText("told of").waitFor();
    await page.getByText("1 delivered, 0 given up").waitFor();
  });

  it("the console's page shows the certificate of an edge's names, and that no agent is online", async () => {
    const issuer = await createAuthority({ commonName: "A CA", now: Date.now() });
    const names = ["*.held.localhost"];
    const { certificatePem, keyPem } = await issueLeaf(issuer, { names, days: 30, now: Date.now() });
    const { body: certificate } = await platform.api("POST", "/tls_certificates", {
      certificate_pem: certificatePem,
      private_key_pem: keyPem,
    });
    const { body: domain } = await platform.api("POST", "/reserved_domains", {
      domain: "*.held.localhost",
      certificate_id: certificate.id,
    });
    const { body: backend } = await platform.api("POST", "/backends/tunnel_group", { labels: { app: "nobody" } });
    const { body: edge } = await platform.api("POST", "/edges/https", {
      hostports: ["a.held.localhost:443", "held-not.localhost:443"],
    });
    await platform.api("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/",
      backend: { backend_id: backend.id },
    });
    await visit(`edges/${edge.id}`);
    const row = (text: string) => page.getByRole("region", { name: "Status" }).locator("li", { hasText: text });
    await row("a.held.localhost").getByText("there", { exact: true }).waitFor();
    await row("held-not.localhost").getByText("certificate from the server's own CA").waitFor();
    await row("app=nobody").getByText("no agent is online").waitFor();
    await assertAccessible(page, "how an edge stands");
    await row("a.held.localhost").getByRole("link").click();
    await page.waitForURL(`**/#/objects/tls_certificate/${certificate.id}`);
    await platform.api("DELETE", `/edges/https/${edge.id}`);
    await platform.api("DELETE", `/reserved_domains/${domain.id}`);
  });

  it(
    "the console's page copies IDs, and its actions as a curl command, as a Postern command, and as YAML",
    { skip: skipWithout("curl") },
    async () => {
      const { body: policy } = await platform.api("POST", "/ip_policies", { description: "it's copied" });
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      const copied = async (name: string, within: Locator = page.locator("body")): Promise<string> => {
        await page.evaluate("navigator.clipboard.writeText('')");
        await within.getByRole("button", { name, exact: true }).click();
        return String(await eventually(() => page.evaluate("navigator.clipboard.readText()"), Boolean));
      };
      const run = (command: string) => {
        const env = { ...process.env, POSTERN_API_KEY: platform.apiKey };
        return JSON.parse(execFileSync("sh", ["-c", command.replace("curl", "curl -sS")], { env, encoding: "utf8" }));
      };
      await visit(`objects/ip_policy/${policy.id}`);
      assert.equal(await copied(`Copy ${policy.id}`), policy.id);
      assert.equal(run(await copied("Copy as curl")).description, "it's copied");
      assert.equal(await copied("CLI"), `npx postern api GET /ip_policies/${policy.id}`);
      const document = parse(await copied("YAML"));
      assert.deepEqual(document.objects.ip_policy.NAME.id, policy.id);
      await button("Edit").click();
      await page.locator("#field-description").fill("it's changed");
      await button("Review …").click();
      const dialog = page.getByRole("dialog");
      await dialog.locator(".diff .added").waitFor();
      const command = await copied("Copy as curl", dialog);
      assert.equal((await platform.api("GET", `/ip_policies/${policy.id}`)).body.description, "it's copied");
      assert.equal(run(command).description, "it's changed");
    },
  );

  it("the console's page tests a login in another tab, shows the provider's data, and revokes the resulting session", async () => {
    const issuer = await startOwnIssuer();
    const [edgeId] = await routeId();
    const { body: route } = await platform.api("POST", `/edges/https/${edgeId}/routes`, {
      match_type: "path_prefix",
      match: "/members",
      oidc: { issuer: issuer.url, client_id: "c", client_secret: "s" },
    });
    try {
      const own = await enter({ ignoreHTTPSErrors: true });
      await visit("logins", own);
      const [tab] = await Promise.all([
        own.waitForEvent("popup"),
        own.getByRole("link", { name: /^Try a login/ }).click(),
      ]);
      await tab.waitForURL(`https://${shop}/members`);
      const trial = own.getByRole("region", { name: "The tested login" });
      await trial.getByText("logged in", { exact: true }).waitFor();
      await trial.getByText("ada@example.com").waitFor();
      await assertAccessible(own, "a login that was tried");
      await button("Revoke the session of ada@example.com", own).click();
      await own.getByText("No logins yet.").waitFor();
      const { body } = await platform.api("GET", "/app/sessions");
      assert.deepEqual(body.application_sessions, []);
      await own.context().close();
    } finally {
      await platform.api("DELETE", `/edges/https/${edgeId}/routes/${route.id}`);
      await issuer.stop();
    }
  });

  it("the console's page shows the whole configuration at a revision, and changes nothing there", async () => {
    const [edge] = await routeId();
    await visit(`history/${edge}`);
    await page.locator("summary", { hasText: "publish shop" }).click();
    await button("Show the state at this revision").click();
    await page.getByText(/the state at revision \d+/).waitFor();
    await page.getByRole("heading", { name: "HTTPS edges" }).waitFor();
    await page.getByRole("link", { name: shop }).click();
    await page.getByText("IP restriction").first().waitFor();
    assert.equal(await page.getByRole("button", { name: "Edit" }).count(), 0);
    await button("Back to now").click();
    await page.getByRole("button", { name: "Edit" }).first().waitFor();
  });

  it("the console's page recovers automatically after a restart of the server, with the same session", async () => {
    await visit("objects/ip_policy");
    await platform.restart();
    await platform.api("POST", "/ip_policies", { description: "made after the restart" });
    await page.getByText("made after the restart").waitFor();
  });

  it("P9: the console's page shows any content of objects as text, and executes none of it", async () => {
    const description = hostile;
    const { body: policy } = await platform.api("POST", "/ip_policies", { description, metadata: hostile });
    const { body: backend } = await platform.api("POST", "/backends/http_response", {
      description,
      status_code: 200,
      body: hostile,
    });
    const { body: key } = await platform.api("POST", "/api_keys", { description });
    const { body: bot } = await platform.api("POST", "/bot_users", { name: hostile });
    assert.equal(
      (
        await platform.request(`https://${shop}/${encodeURIComponent(hostile.replaceAll("/", ""))}`, {
          headers: { "user-agent": hostile },
        })
      ).status,
      403,
    );
    const made = async (path: string, body: object): Promise<string> => {
      const { status, body: answer } = await platform.api("POST", path, { description, metadata: hostile, ...body });
      assert.equal(status, 201, JSON.stringify(answer));
      return answer.id as string;
    };
    const file = { target: { file: { name: "hostile.jsonl" } } };
    const policyText = `# ${hostile}\non_http_request:\n  - actions: [{ type: deny }]\n`;
    const nameless = await made("/edges/https", {});
    const others = [
      `objects/credential/${await made("/credentials", {})}`,
      `objects/vault/${await made("/vaults", { name: "hostile" })}`,
      `objects/event_destination/${await made("/event_destinations", file)}`,
      `objects/tunnel_group_backend/${await made("/backends/tunnel_group", { labels: { app: hostile.replaceAll("=", "") } })}`,
      `objects/tls_edge/${await made("/edges/tls", {})}`,
      `objects/tcp_edge/${await made("/edges/tcp", {})}`,
      `objects/reserved_domain/${await made("/reserved_domains", { domain: "hostile.localhost" })}`,
      `edges/${nameless}`,
      "edges",
      "events",
    ];
    const [edgeId, routeOfShop] = await routeId();
    await platform.api("PATCH", `/edges/https/${edgeId}/routes/${routeOfShop}`, {
      traffic_policy: { enabled: false, value: policyText },
    });
    const shown = [
      ...others,
      "objects/ip_policy",
      `objects/ip_policy/${policy.id}`,
      "objects/http_response_backend",
      `objects/http_response_backend/${backend.id}`,
      "objects/api_key",
      `objects/api_key/${key.id}`,
      "objects/bot_user",
      `objects/bot_user/${bot.id}`,
    ];
    for (const view of shown) {
      await visit(view);
      await page.getByText(hostile).first().waitFor();
    }
    // After a reload, the page has no heading of another view to show in the meantime.
    await visit(`edges/${nameless}`);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "no name yet" }).waitFor();
    await visit(`edges/${edgeId}`);
    const rules = page.getByRole("listitem").filter({ hasText: "Traffic policy" });
    await rules.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByRole("textbox", { name: "Policy" }).getByText("onerror").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await platform.api("DELETE", `/edges/https/${edgeId}/routes/${routeOfShop}/traffic_policy`);
    await visit(`objects/ip_policy/${policy.id}`);
    await page.getByRole("textbox", { name: "Address", exact: true }).fill(hostile);
    await button("Ask").click();
    await page.getByRole("form", { name: "Is an address allowed?" }).getByRole("alert").waitFor();
    await visit("history");
    await page.locator("summary").first().click();
    await visit("traffic");
    await page.locator(".requests button").first().click();
    await page.getByText("What decided").waitFor();
    assert.equal(await page.locator("main img, main script").count(), 0);
    assertQuiet();
  });

  it("the console's page works with the keyboard: it opens views, and finds objects of any kind", async () => {
    await visit("overview");
    await page.locator("h1").click();
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.getByRole("heading", { name: "Traffic" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await page.getByRole("heading", { name: "Publish a service" }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(
      await page.evaluate("document.activeElement.ariaLabel"),
      "Protocol",
      "the first field is the next stop",
    );
    await page.keyboard.press("Escape");
    await page.locator("h1").click();
    await page.keyboard.press("/");
    await page.getByLabel("Search everything").fill("access to shop");
    await page.getByRole("option", { name: "access to shop" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "access to shop" }).waitFor();
    const opened = async (text: string, option: string): Promise<void> => {
      await page.keyboard.press("Control+k");
      await page.getByLabel("Search everything").fill(text);
      const found = page.getByRole("option", { name: option });
      await found.and(page.locator("[aria-selected=true]")).waitFor();
      await page.keyboard.press("Enter");
    };
    await opened("shop.local", `https://${shop}`);
    await page.getByRole("heading", { name: shop }).waitFor();
    await opened("new vault", "New Vault");
    await page.getByRole("heading", { name: "New Vault" }).waitFor();
    await opened("invite", "Invite an agent");
    await page.getByRole("heading", { name: "Invite an agent" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByLabel("Search everything").fill("set");
    await assertAccessible(page, "the search", "dialog");
    await page.keyboard.press("Escape");
  });

  it("the console's page stays smooth with 10,000 objects of a kind: hidden rows are not rendered, and pages load while scrolling", async () => {
    const all = Array.from({ length: 10_000 }, (_, at) => [`n${at}`, { description: `policy number ${at}` }]);
    const { body: plan } = await platform.api("POST", "/apply", {
      document: "many",
      objects: { ip_policy: Object.fromEntries(all) },
    });
    assert.equal(plan.summary.create, 10_000);
    await visit("objects/ip_policy");
    const rows = page.getByRole("table");
    for (let pages = 0; pages < 6; pages += 1) {
      const before = await rows.evaluate((element) => element.scrollHeight);
      await rows.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await eventually(
        () => rows.evaluate((element) => element.scrollHeight),
        (height) => Number(height) > Number(before),
      );
      assert.ok((await page.locator(".body-row").count()) < 80);
    }
    await page.getByLabel("Filter").fill("number 9999");
    await eventually(
      () => page.locator(".body-row").count(),
      (count) => count === 1,
    );
  });

  it("the console's page has no serious accessibility fault in any view and both colours, and fits 360 px", async () => {
    const [edgeId] = await routeId();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const view of [...views, `edges/${edgeId}`]) {
        await visit(view);
        await assertAccessible(page, `${view}, ${colorScheme}`);
      }
    }
    await page.setViewportSize({ width: 360, height: 740 });
    for (const view of [...views, `edges/${edgeId}`]) {
      await visit(view);
      await assertFits(page, view);
    }
    await button("Menu").click();
    await page.getByRole("link", { name: "History" }).click();
    await page.getByRole("heading", { name: "History" }).waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it("the console's kit shows all shared components without a serious accessibility fault in both colours", async () => {
    const kit = await openWatched(chromium, platform.apiUrl);
    await kit.page.goto(`${platform.apiUrl}/console/kit`);
    await kit.page.getByRole("heading", { name: "Kit" }).waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await kit.page.emulateMedia({ colorScheme });
      await assertAccessible(kit.page, `kit, ${colorScheme}`);
    }
    kit.assertQuiet();
    await kit.context.close();
  });

  it("the console's page has no serious accessibility fault in the list and form of any kind, or in any module's form", async () => {
    // They consist of the same parts. Each is checked in one theme, and all of them in both.
    let looks = 0;
    const look = async (what: string, within = "#main"): Promise<void> => {
      const colorScheme = (looks += 1) % 2 === 0 ? "dark" : "light";
      await page.emulateMedia({ colorScheme });
      await assertAccessible(page, `${what}, ${colorScheme}`, within);
    };
    await visit("objects");
    await look("all objects");
    const kinds = await page
      .locator("main a[href^='#/objects/']")
      .evaluateAll((links) => links.map((link) => String(link.getAttribute("href")).slice(2)));
    assert.ok(kinds.length > 20, String(kinds));
    for (const kind of kinds) {
      await visit(kind);
      const shown = page.locator("#main .body-row, #main .empty");
      await shown.first().waitFor();
      const empty = page.locator("#main .empty");
      if ((await empty.count()) > 0) {
        // Its purpose is described above the form.
        assert.ok((await page.locator("#main .head p").innerText()).length > 10, kind);
        assert.ok((await empty.innerText()).length > 10, kind);
      }
      await look(kind);
      if ((await page.getByRole("main").getByRole("link", { name: "New" }).count()) === 0) continue;
      // Opens the dialog that `console-people.test.ts` checks.
      if (kind === "objects/person_invitation") continue;
      await visit(`${kind}/new`);
      await button("Review …").waitFor();
      await look(`${kind}/new`);
    }
    await page.setViewportSize({ width: 360, height: 740 });
    for (const kind of kinds) {
      await visit(kind);
      await page.locator("#main .body-row, #main .empty").first().waitFor();
      await assertFits(page, kind);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    const [edgeId] = await routeId();
    await visit(`edges/${edgeId}`);
    const modules = page.locator(".pipeline > li");
    await modules.first().waitFor();
    const count = await modules.count();
    assert.ok(count > 10, String(count));
    for (let at = 0; at < count; at += 1) {
      await modules
        .nth(at)
        .getByRole("button", { name: /^(?:Set|Edit)$/ })
        .click();
      await page.getByRole("dialog").waitFor();
      await look(`module ${at + 1}`, "dialog");
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  });

  it("the console's page shows local times, with UTC on hover", async () => {
    await visit("objects/tunnel");
    const time = page.locator(".body-row time").first();
    assert.match((await time.getAttribute("title")) ?? "", /^\d{4}-\d\d-\d\dT.*Z \(UTC\)$/);
    assert.doesNotMatch(await page.locator(".body-row").first().innerText(), /\dT\d/);
  });

  it("the console's page stops an agent after a confirmation, and shows that its tunnels ended", async () => {
    const other = await enter();
    await visit("objects/tunnel", other);
    await other.locator(".body-row").first().waitFor();
    await visit("objects/tunnel_session");
    await page.locator(".body-row a").first().click();
    await page.getByText(/^answers in [0-9.]+ ms$/).waitFor();
    await button("Stop").click();
    assert.equal((await platform.api("GET", "/tunnel_sessions")).body.tunnel_sessions.length, 1);
    await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    await agent.ended;
    await page.getByRole("dialog").waitFor({ state: "detached" });
    // Its tunnels are in no revision, and disappear from an open list.
    await other.locator(".empty").waitFor();
    await other.context().close();
  });

  it("P10: the console's page requires a new login after its session was revoked", async () => {
    const other = await enter();
    const { body } = await platform.api("GET", "/console_sessions?limit=1");
    await platform.api("DELETE", `/console_sessions/${body.console_sessions[0].id}`);
    await visit("history", other).catch(() => undefined);
    await other.getByText("Your session has expired.").waitFor();
    await other.getByText("npx postern console").waitFor();
    assertQuiet();
  });
});
