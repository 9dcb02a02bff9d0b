/** Who may reach a service of any kind: the console shows the rules, changes them and undoes the change. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Locator } from "playwright-core";
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

const greeting = `# Answers everybody.
on_http_request:
    - name: greet
      actions:
        - type: custom-response
          config: { status_code: 200, body: hello }
`;

describe("access rules in the console", { skip: skipWithout("chromium"), timeout: 240_000 }, () => {
  let platform: TestPlatform;
  let service: HttpService;
  let chromium: Browser;
  let watched: WatchedPage;
  before(async () => {
    [platform, chromium] = await Promise.all([
      startPlatform({ drainMs: 50, allowLocalUpstreams: true }),
      startChromium(),
    ]);
    service = await startHttpService((_request, response) => response.end("the shop"));
    watched = await enterConsole(chromium, platform);
  });
  after(async () => {
    await chromium?.close();
    await platform?.stop();
    await service?.stop();
  });
  const make = async (path: string, body: object): Promise<ApiBody> => {
    const made = await platform.api("POST", path, body);
    assert.equal(made.status, 201, made.text);
    return made.body;
  };
  const who = (): Locator => watched.page.getByRole("region", { name: "Who may reach it" });
  const open = async (button: string): Promise<Locator> => {
    await who().getByRole("button", { name: button }).click();
    const dialog = watched.page.getByRole("dialog");
    await dialog.getByLabel("Who has access").waitFor();
    return dialog;
  };
  const apply = async (dialog: Locator): Promise<void> => {
    await dialog.getByRole("button", { name: "Apply" }).click();
    await dialog.waitFor({ state: "detached" });
  };
  const policies = async (): Promise<readonly ApiBody[]> =>
    (await platform.api("GET", "/ip_policies")).body.ip_policies;

  for (const [kind, name] of [
    ["tls", "mqtt.localhost"],
    ["tcp", "db.localhost"],
  ] as const) {
    it(`access rules in the console limit a ${kind.toUpperCase()} service to addresses, show them, change them, and leave nothing after Undo`, async () => {
      const hostport = kind === "tls" ? `${name}:${platform.httpsPort}` : `${name}:27431`;
      const backend = await make("/backends/tunnel_group", { labels: { app: kind } });
      const edge = await make(`/edges/${kind}`, {
        hostports: [hostport],
        backend: { backend_id: backend.id },
      });
      await visitView(watched.page, platform, `services/${kind}_edge/${edge.id}`);
      await who().getByText("everyone").waitFor();
      // No agent serves it yet, so the page shows how to start one.
      await watched.page.getByText(`npx postern tcp 5432 --label app=${kind}`).waitFor();
      const first = await open("Protect …");
      assert.equal(await first.getByLabel("How visitors log in").count(), 0, "logins need HTTP");
      assert.ok(await first.getByRole("button", { name: "Apply" }).isDisabled());
      await first.getByLabel("Who has access").fill("192.0.2.0/24");
      await assertAccessible(watched.page, `protecting a ${kind} service`, "dialog");
      await apply(first);
      await who().getByText("from allowed addresses").waitFor();
      const again = await open("Change …");
      assert.equal(await again.getByLabel("Who has access").inputValue(), "192.0.2.0/24");
      await again.getByLabel("Who has access").fill("192.0.2.0/24 198.51.100.0/24");
      await apply(again);
      await eventually(policies, (all) => all.length === 1);
      const rules = (await platform.api("GET", "/ip_policy_rules")).body.ip_policy_rules as ApiBody[];
      assert.deepEqual(rules.map(({ cidr }) => String(cidr)).sort(), ["192.0.2.0/24", "198.51.100.0/24"]);
      await visitView(watched.page, platform, "history");
      await watched.page.getByRole("button", { name: "Undo …" }).first().click();
      await watched.page.getByRole("button", { name: "Go back" }).click();
      await watched.page.getByText("Done, as revision").waitFor();
      await watched.page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
      assert.deepEqual(await policies(), []);
      assert.equal((await platform.api("GET", `/edges/${kind}/${edge.id}`)).body.ip_restriction, null);
      watched.assertQuiet();
    });
  }

  it("access rules in the console demand a password at a cloud endpoint, and keep the rest of its policy", async () => {
    const host = `hello.localhost:${platform.httpsPort}`;
    const endpoint = await make("/endpoints", { type: "cloud", url: `https://${host}`, traffic_policy: greeting });
    const policy = async (): Promise<string> =>
      (await platform.api("GET", `/endpoints/${endpoint.id}`)).body.traffic_policy;
    const status = async (headers = {}): Promise<number> =>
      (await platform.request(`https://${host}/`, { headers })).status;
    await eventually(status, (code) => code === 200);
    await visitView(watched.page, platform, `services/endpoint/${endpoint.id}`);
    await who().getByText("by a traffic policy").waitFor();
    const dialog = await open("Change …");
    await dialog.getByLabel("How visitors log in").selectOption("a password");
    await dialog.getByLabel("User").fill("ada");
    await dialog.getByLabel("Password").fill("long ${enough}: yes");
    await dialog.getByLabel("Who has access").fill("127.0.0.0/8");
    await apply(dialog);
    await who().getByText("from allowed addresses, with a password").waitFor();
    await eventually(status, (code) => code === 401);
    const login = `Basic ${Buffer.from("ada:long ${enough}: yes").toString("base64")}`;
    assert.equal(await status({ authorization: login }), 200);
    const again = await open("Change …");
    assert.equal(await again.getByLabel("How visitors log in").inputValue(), "kept");
    await again.getByLabel("Who has access").fill("192.0.2.0/24");
    await apply(again);
    await eventually(
      () => status({ authorization: login }),
      (code) => code === 403,
    );
    const last = await open("Change …");
    await last.getByLabel("How visitors log in").selectOption("no login");
    await last.getByRole("button", { name: "Everyone" }).click();
    await apply(last);
    await eventually(status, (code) => code === 200);
    assert.equal(await policy(), greeting);
    watched.assertQuiet();
  });

  it("access rules in the console show the login of a route, change its domains, and remove an IP policy", async () => {
    const host = `staff.localhost:${platform.httpsPort}`;
    const office = await make("/ip_policies", { description: "the office" });
    await make("/ip_policy_rules", { ip_policy_id: office.id, cidr: "127.0.0.0/8", action: "allow" });
    const edge = await make("/edges/https", { hostports: [host] });
    const google = { client_id: "mine", client_secret: "s3cret", email_domains: ["acme.com"] };
    const route = await make(`/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/",
      ip_restriction: { ip_policy_ids: [office.id] },
      oauth: { provider: { google }, maximum_duration: 3_600 },
    });
    await visitView(watched.page, platform, `edges/${edge.id}`);
    await who().getByText("from allowed addresses, people at acme.com signed in with Google").waitFor();
    const dialog = await open("Change …");
    assert.equal(await dialog.getByLabel("How visitors log in").inputValue(), "google");
    assert.equal(await dialog.getByLabel("Only people at").inputValue(), "acme.com");
    await dialog.getByText("127.0.0.0/8").waitFor();
    await dialog.getByLabel("Only people at").fill("acme.com example.com");
    await dialog.getByRole("checkbox", { name: "the office" }).uncheck();
    await apply(dialog);
    await who().getByText("people at acme.com, example.com signed in with Google").waitFor();
    const { body: now } = await platform.api("GET", `/edges/https/${edge.id}/routes/${route.id}`);
    assert.equal(now.ip_restriction, null);
    assert.equal(now.oauth.maximum_duration, 3_600);
    assert.deepEqual(now.oauth.provider.google, {
      ...now.oauth.provider.google,
      client_id: "mine",
      client_secret: "s3cret",
      email_domains: ["acme.com", "example.com"],
    });
    const last = await open("Change …");
    await last.getByLabel("How visitors log in").selectOption("no login");
    await apply(last);
    await who().getByText("everyone").waitFor();
    watched.assertQuiet();
  });

  it("access rules in the console of an agent's endpoint name the agent's options", async () => {
    await platform.startAgent({ upstream: service.port });
    const endpoints = await eventually(
      async () => (await platform.api("GET", "/endpoints?limit=100")).body.endpoints as ApiBody[],
      (all) => all.some(({ type }) => type === "ephemeral"),
    );
    const own = endpoints.find(({ type }) => type === "ephemeral");
    await visitView(watched.page, platform, `services/endpoint/${own.id}`);
    await who().getByText("The agent sets these rules").waitFor();
    await who().getByText(`--url ${own.public_url} --cidr-allow`).waitFor();
    watched.assertQuiet();
  });
});
