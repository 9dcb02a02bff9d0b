/** The console's views of the past, of deleted objects, of faults, and of empty lists. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { acmeSettings } from "../../src/settings/acme.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import type { TestApi } from "../support/api.ts";
import { planPebble } from "../support/pebble.ts";
import type { PebblePlan } from "../support/pebble.ts";
import { startChromium } from "../support/chromium.ts";
import { skipWithout } from "../support/programs.ts";
import { enterConsole, visitView } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { assertAccessible, openWatched } from "../support/pages.ts";
import type { WatchedPage } from "../support/pages.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { makeWorld } from "../support/world.ts";

/** Kinds without a history. */
const present = ["application_session", "application_user", "endpoint", "node", "tunnel", "tunnel_session"];

/** Kinds that no operation creates. */
const issuedToPeople = ["console_session", "person", "passkey"];

describe("the console's views", { skip: skipWithout("chromium"), timeout: 240_000 }, () => {
  let platform: TestPlatform;
  let plan: PebblePlan;
  let service: HttpService;
  let chromium: Browser;
  let watched: WatchedPage;
  let page: Page;
  let main: Locator;
  before(async () => {
    plan = await planPebble();
    const authority = { acmeDirectory: plan.directoryUrl, acmeCa: plan.ca, acmeEmail: "ops@example.test" };
    const acme = { ...defaultsOf(acmeSettings), ...authority, acmeAgree: true };
    [platform, chromium, service] = await Promise.all([
      startPlatform({ drainMs: 50, allowLocalUpstreams: true, ...acme }),
      startChromium(),
      startHttpService((_request, response) => response.end("answered")),
    ]);
    watched = await enterConsole(chromium, platform);
    ({ page } = watched);
    main = page.getByRole("main");
  });
  after(async () => {
    await chromium?.close();
    await platform?.stop();
    await service?.stop();
  });

  /** Returns when the menu marks the view, or its list, as the current one. */
  const visit = async (view: string, of = page): Promise<void> => {
    await visitView(of, platform, view);
    const [first = "", kind = ""] = view.split("/");
    const path = first === "objects" ? `${first}/${kind}` : first === "edges" && kind !== "" ? "services" : first;
    await of.locator(`nav a[aria-current="page"][href="#/${path}"]`).waitFor();
  };
  const ok = async (method: string, path: string, body?: unknown, key?: string) => {
    const answer = await platform.api(method, path, body, key);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  /** Returns the kinds that "All objects" lists. */
  const kindsOf = async (of = page): Promise<readonly string[]> => {
    await of.getByRole("link", { name: "All objects" }).click();
    const links = of.locator("main a[href^='#/objects/']");
    await links.first().waitFor();
    return links.evaluateAll((all) => all.map((one) => String(one.getAttribute("href")).slice("#/objects/".length)));
  };

  it("the console's views omit kinds that the key may not list", async () => {
    const { api_key } = await ok("POST", "/accounts", { name: "without operator" });
    const { token } = await ok("POST", "/api_keys", { scopes: ["read", "type:vault", "type:ip_policy"] });
    const kinds = await kindsOf();
    assert.ok(["account", "node", "vault"].every((kind) => kinds.includes(kind)));
    const kindsFor = async (key: string): Promise<readonly string[]> => {
      const { page: own, context } = await openWatched(chromium, platform.apiUrl);
      await own.goto(platform.apiUrl);
      await own.getByLabel("API key").fill(key);
      await own.getByRole("button", { name: "Log in" }).click();
      const shown = await kindsOf(own);
      await context.close();
      return shown;
    };
    const tenants = await kindsFor(api_key);
    assert.ok(tenants.includes("vault") && !tenants.includes("account") && !tenants.includes("node"));
    assert.deepEqual((await kindsFor(token)).toSorted(), ["ip_policy", "vault"]);
  });

  it("the console's views show a denied request on the overview even if more than 100 followed it", async () => {
    const host = `denied.localhost:${platform.httpsPort}`;
    const edge = await ok("POST", "/edges/https", { hostports: [host] });
    const action = (type: string, config: object = {}) => ({
      value: JSON.stringify({ on_http_request: [{ actions: [{ type, config }] }] }),
    });
    for (const [match, traffic_policy] of [
      ["/denied-once", action("deny")],
      ["/", action("custom-response", { status_code: 200, body: "answered" })],
    ] as const) {
      await ok("POST", `/edges/https/${edge.id}/routes`, { match_type: "path_prefix", match, traffic_policy });
    }
    await eventually(
      async () => (await platform.request(`https://${host}/denied-once`)).status,
      (status) => status === 403,
    );
    for (let count = 0; count < 110; count += 1) await platform.request(`https://${host}/answered`);
    const { requests } = await ok("GET", "/requests?limit=100");
    assert.ok(!requests.some(({ outcome }: { outcome: string }) => outcome === "denied"));
    await visit("overview");
    await page.getByRole("region", { name: "Denied and failed" }).getByText("/denied-once").first().waitFor();
    await ok("DELETE", `/edges/https/${edge.id}`);
  });

  it("the console's views show objects at a revision that were changed or deleted since, or indicate that they show the present", async () => {
    const world = makeWorld({ ok, apiKey: platform.apiKey } as unknown as TestApi);
    const made: { readonly kind: string; readonly id: string; readonly path: string; readonly text: string }[] = [];
    const kinds = await kindsOf();
    for (const kind of [...kinds, "https_edge"].filter(
      (one) => !present.includes(one) && !issuedToPeople.includes(one),
    )) {
      const { id, path } = await world.make(kind);
      const hasText = "description" in (await ok("GET", path));
      if (hasText) await ok("PATCH", path, { description: `${kind} as it was` });
      made.push({ kind, id, path, text: hasText ? `${kind} as it was` : id });
    }
    const policy = made.find(({ kind }) => kind === "ip_policy");
    await ok("POST", "/ip_policy_rules", { ip_policy_id: policy?.id, cidr: "192.0.2.0/24", action: "allow" });
    const { revision } = (await ok("GET", "/revisions?limit=1")).revisions[0];
    for (const { kind, path } of made.toReversed()) {
      if ("description" in (await ok("GET", path))) await ok("PATCH", path, { description: "since" });
      if (!["account", "ip_policy", "https_edge"].includes(kind)) await ok("DELETE", path);
    }

    await visit("history");
    const row = page.locator("ol.revisions > li").filter({ has: page.getByText(String(revision), { exact: true }) });
    const earlier = page.getByRole("button", { name: "Show earlier changes" });
    await row.or(earlier).first().waitFor();
    while ((await row.count()) === 0) await Promise.all([earlier.click(), page.waitForResponse(/before_id=/)]);
    await row.first().locator("summary").click();
    await row.first().getByRole("button", { name: "Show the state at this revision" }).click();
    const past = main.getByRole("status").getByText(`You see the state at revision ${revision}.`);
    const now = main.getByRole("status").getByText(`This view shows the current state, not revision ${revision}.`);
    await past.waitFor();
    await main.getByText("https_edge as it was").waitFor();
    for (const { kind, id, text } of made) {
      const isEdge = kind === "https_edge";
      await visit(isEdge ? "edges" : `objects/${kind}`);
      await past.waitFor();
      await main.locator(`a[href$="/${id}"]`).first().waitFor();
      assert.equal(await main.getByText("since", { exact: true }).count(), 0, kind);
      await visit(isEdge ? `edges/${id}` : `objects/${kind}/${id}`);
      await past.waitFor();
      const own = isEdge ? main.getByRole("link", { name: "All fields" }) : main.getByLabel(`Copy ${id}`);
      await own.waitFor();
      await main.getByText(text).first().waitFor();
      assert.equal(await main.getByRole("button", { name: /^(?:Edit|Delete|Add a route)$/ }).count(), 0, kind);
    }
    await visit("objects/ip_policy");
    await main.getByLabel("Filter").fill("as it was");
    await main.getByText("ip_policy as it was").waitFor();
    await visit(`objects/ip_policy/${policy?.id}`);
    await main.getByRole("region", { name: "IP policy rules" }).getByText("192.0.2.0/24").waitFor();
    await visit("objects/console_session");
    await past.waitFor();
    await main.locator(".body-row").first().waitFor();

    const views = ["overview", "traffic", "publish", "explain", "history", "logins", "webhooks", "events"];
    for (const view of [...views, ...present.map((kind) => `objects/${kind}`), "objects/ip_policy/new"]) {
      await visit(view);
      await now.waitFor();
    }
    const { nodes } = await ok("GET", "/nodes");
    await visit(`objects/node/${nodes[0].id}`);
    await now.waitFor();
    await main.getByText(nodes[0].version).first().waitFor();

    const vault = made.find(({ kind }) => kind === "vault");
    await visit(`objects/vault/${vault?.id}`);
    await past.waitFor();
    await page.getByRole("button", { name: "Back to now" }).click();
    await main.getByText("This Vault was deleted or never existed.").waitFor();
    assert.equal(await main.getByRole("button", { name: "Edit" }).count(), 0);
    await main.getByRole("link", { name: "Show history" }).click();
    await page.locator(".revisions", { hasText: "Deleted vault" }).waitFor();
    watched.assertQuiet();
  });

  it("the console's views of one tunnel, agent or public URL report that it ended, and how to get another", async () => {
    const agent = await platform.startAgent({ upstream: service.port });
    const [tunnel] = (await ok("GET", "/tunnels")).tunnels;
    const [session] = (await ok("GET", "/tunnel_sessions")).tunnel_sessions;
    const shown = [`tunnel/${tunnel.id}`, `tunnel_session/${session.id}`, `endpoint/${tunnel.endpoint.id}`];
    const context = page.context();
    const pages = await Promise.all(
      shown.map(async (view) => {
        const other = await context.newPage();
        await visit(`objects/${view}`, other);
        await other.locator("dl.pairs").first().waitFor();
        return other;
      }),
    );
    await agent.close();
    for (const other of pages) {
      const gone = other.getByRole("status").filter({ hasText: "was deleted or never existed" });
      await gone.waitFor();
      await gone.getByText("npx postern http 3000").waitFor();
      await gone.getByRole("link", { name: /^All / }).waitFor();
      assert.equal(await other.locator("dl.pairs").count(), 0);
      await assertAccessible(other, "one that has gone", "#main");
      await other.close();
    }
  });

  it("the console's views lead back to the denied service after an address was allowed", async () => {
    const host = `door.localhost:${platform.httpsPort}`;
    const policy = await ok("POST", "/ip_policies", { description: "nobody" });
    const rule = { ip_policy_id: policy.id, cidr: "192.0.2.0/24", action: "allow" };
    await ok("POST", "/ip_policy_rules", rule);
    const backend = await ok("POST", "/backends/http_response", { status_code: 200, body: "in" });
    const edge = await ok("POST", "/edges/https", { hostports: [host] });
    await ok("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/",
      backend: { backend_id: backend.id },
      ip_restriction: { ip_policy_ids: [policy.id] },
    });
    await eventually(
      () => platform.request(`https://${host}/way/in`, { method: "DELETE" }),
      ({ status }) => status === 403,
    );
    await eventually(
      () => platform.request(`https://${host}/way/in`),
      ({ status }) => status === 403,
    );
    await visit("traffic");
    await page
      .getByRole("button", { name: /GET .*\/way\/in/ })
      .first()
      .click();
    await page.getByRole("link", { name: "Let 127.0.0.1 pass" }).click();
    await eventually(
      () => page.locator("#field-cidr").inputValue(),
      (value) => value === "127.0.0.1/32",
    );
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    const again = page.getByRole("region", { name: "Ask again" });
    const link = again.getByRole("link", { name: `Open ${host}/way/in` });
    assert.equal(await link.getAttribute("href"), `https://${host}/way/in`);
    await again.getByText(`curl --cacert postern-ca.pem https://${host}/way/in`).waitFor();
    await visit("traffic");
    await page
      .getByRole("button", { name: /DELETE .*\/way\/in/ })
      .first()
      .click();
    await page.getByRole("button", { name: "Explain again with the current configuration" }).click();
    await again.getByText(`-X DELETE https://${host}/way/in`).waitFor();
    assert.equal(await again.getByRole("link").count(), 0, "a link would ask by GET");
    await assertAccessible(page, "asking again", "#main");
  });

  it("the console's views show how many requests pass and fail, and link failures to their reasons", async () => {
    const host = `empty.localhost:${platform.httpsPort}`;
    const backend = await ok("POST", "/backends/tunnel_group", { labels: { app: "nobody" } });
    const edge = await ok("POST", "/edges/https", { hostports: [host] });
    await ok("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/",
      backend: { backend_id: backend.id },
    });
    const agent = await platform.startAgent({ upstream: service.port });
    await visit("overview");
    const figures = page.getByRole("region", { name: "Traffic over time" }).locator(".chart");
    const figure = (name: string) => figures.filter({ hasText: name }).locator(".chart-figure").first().innerText();
    await eventually(
      async () => {
        assert.equal((await platform.request(agent.url)).text, "answered");
        assert.ok((await platform.request(`https://${host}/nobody`)).status >= 500);
        return {
          requests: parseInt(await figure("Requests"), 10),
          errors: parseInt(await figure("Denied and errors"), 10),
          took: await figure("Latency"),
          there: await page.getByRole("region", { name: "Agents" }).innerText(),
        };
      },
      ({ requests, errors, took, there }) =>
        errors > 0 && requests > errors && /^\d.*p95, half within \d/.test(took) && there.includes("1 tunnel"),
      100,
    );
    const failed = page.getByRole("region", { name: "Denied and failed" });
    await failed
      .getByRole("link", { name: /empty\.localhost\/nobody/ })
      .first()
      .click();
    const step = main.getByRole("listitem").filter({ hasText: "no tunnel with its labels is online" });
    await step.getByRole("link", { name: "Tunnel group backend" }).click();
    await main.getByText("app").first().waitFor();
    assert.ok(page.url().endsWith(`/objects/tunnel_group_backend/${backend.id}`), page.url());
    // A request through an agent is repeated at its URL, or from the agent's stored copy.
    const { requests } = await ok("GET", "/requests?outcome=forwarded&limit=1");
    await visit(`traffic/${requests[0].id}`);
    await page.getByRole("button", { name: "Explain again with the current configuration" }).click();
    const again = page.getByRole("region", { name: "Ask again" });
    assert.equal(await again.getByRole("link").getAttribute("href"), `${agent.url}/`);
    await again.getByRole("button", { name: "To the captured request and Replay" }).click();
    await page.getByRole("region", { name: "Captured" }).getByText("The agent does not capture").waitFor();
    await agent.close();
  });

  it(
    "the console's views show first which certificate could not be issued, and the reason next to the setting to change",
    { skip: skipWithout("pebble") },
    async () => {
      const pebble = await plan.start({ http: platform.httpPort ?? 0, https: platform.httpsPort });
      try {
        const domain = "blocked.example.test";
        await ok("POST", "/reserved_domains", {
          domain,
          certificate_management_policy: { authority: "letsencrypt", private_key_type: "ecdsa" },
        });
        const edge = await ok("POST", "/edges/https", { hostports: [`${domain}:443`] });
        await visit("overview");
        const problem = page
          .getByRole("region", { name: "Problems" })
          .getByRole("link", { name: `${domain} has no certificate` });
        await problem.waitFor({ timeout: 60_000 });
        const regions = await main.locator("section[aria-label]").evaluateAll((all) => all.map((one) => one.ariaLabel));
        assert.ok(regions.indexOf("Problems") < regions.indexOf("Denied and failed"), String(regions));
        await problem.click();
        const certificate = page.getByRole("region", { name: "Certificate", exact: true });
        await certificate.getByText("failed", { exact: true }).waitFor();
        await certificate.getByText("The last attempt failed: DOMAIN_REJECTED").waitFor();
        await certificate.getByText(/blocked/).waitFor();
        await certificate.getByText(/tried again/).waitFor();
        await visit(`edges/${edge.id}`);
        const stands = page.getByRole("region", { name: "Status" });
        await stands.getByRole("link", { name: "no certificate from a public CA yet" }).waitFor();
        await stands.getByText("failed", { exact: true }).waitFor();
      } finally {
        await pebble.stop();
      }
    },
  );

  it("the console's views without content describe their purpose, and offer a command or a button", async () => {
    const { api_key: key } = await ok("POST", "/accounts", { name: "nothing yet" });
    const { credentials } = await ok("GET", "/credentials", undefined, key);
    for (const { id } of credentials) await ok("DELETE", `/credentials/${id}`, undefined, key);
    const other = await enterConsole(chromium, platform, {}, key);
    const view = other.page.getByRole("main");
    const ways = ".command, a.button, button";
    for (const name of ["overview", "traffic", "edges", "explain", "logins", "webhooks", "events"]) {
      await visit(name, other.page);
      const empty = view
        .locator(".empty")
        .filter({ has: other.page.locator(ways) })
        .first();
      await empty.waitFor();
      assert.ok((await empty.innerText()).length > 30, name);
      await assertAccessible(other.page, `${name} with nothing to show`, "#main");
    }
    const filled: string[] = [];
    const refused: string[] = [];
    for (const kind of await kindsOf(other.page)) {
      await visit(`objects/${kind}`, other.page);
      const empty = view.locator(".empty");
      const refusal = view.getByRole("alert");
      await empty.or(refusal).or(view.locator(".body-row").first()).waitFor();
      if ((await refusal.count()) > 0) refused.push(kind);
      else if ((await empty.count()) === 0) filled.push(kind);
      else {
        assert.ok((await empty.locator(ways).count()) > 0, kind);
        assert.ok((await empty.locator("p").first().innerText()).length > 10, kind);
      }
    }
    assert.deepEqual(filled.sort(), ["api_key", "console_session"]);
    assert.deepEqual(refused, [], "the console offers no kind that the key may not list");
    other.assertQuiet();
    await other.context.close();
  });
});
