/** Logins that agents require for their tunnels, with the public SDK's own options. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { issuerTag } from "../../src/identity/browser/realm.ts";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import { codeOf, seen } from "../support/login-world.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { startOpenIdProvider } from "../support/openid.ts";
import type { OpenIdProvider } from "../support/openid.ts";
import { makeSamlProvider } from "../support/saml-provider.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";

describe("an agent's endpoint", { timeout: 120_000 }, () => {
  let world: SamlWorld;
  let sdk: SdkProcess;
  let openid: OpenIdProvider;
  before(async () => {
    world = await startSamlWorld();
    const { platform } = world;
    const account = (await platform.api("GET", "/accounts")).body.accounts[0].id;
    openid = await startOpenIdProvider((issuer) => ({
      clientId,
      clientSecret,
      redirectUris: [`${world.origin("idp.localhost")}/oauth2/callback/${issuerTag(account, issuer)}`],
    }));
    sdk = await startSdk();
    await sdk.ask({ name: "connect", port: platform.agentPort, ca: platform.caPem, token: platform.authtoken });
  });
  after(async () => {
    await sdk.stop();
    await openid.stop();
    await world.stop();
  });
  beforeEach(() => {
    world.providers.person = { id: "1", name: "Ada", login: "ada", email: "ada@example.com", verified: true };
  });

  it("an agent's endpoint requires a login with OAuth, and admits the people that the agent names", async () => {
    const bound = await sdk.ask({
      name: "http",
      domain: "oauth.localhost",
      oauth: ["google", ["Ada@example.com"], [], undefined, clientId, clientSecret],
    });
    assert.equal(bound.error, undefined, JSON.stringify(bound.error));
    for (const http of ["h1", "h2"] as const) {
      const arrived = await world.browser(http).visit(`${bound.url}/x`);
      assert.equal(arrived.text, "hello from /x");
    }
    world.providers.person = { ...world.providers.person, email: "eve@example.com" };
    assert.equal(codeOf(await world.browser().visit(`${bound.url}/x`)), "3105");
  });

  it("an agent's endpoint requires a login with the server's own app", async () => {
    const bound = await sdk.ask({ name: "http", domain: "managed.localhost", oauth: ["github"] });
    assert.equal((await world.browser().visit(`${bound.url}/x`)).text, "hello from /x");
  });

  it("an agent's endpoint requires a login with an OpenID provider", async () => {
    const bound = await sdk.ask({
      name: "http",
      domain: "oidc.localhost",
      oidc: [openid.issuer, clientId, clientSecret, [], ["example.com"]],
    });
    assert.equal(bound.error, undefined, JSON.stringify(bound.error));
    const browser = world.browser();
    const arrived = await openid.signIn(browser, await browser.visit(`${bound.url}/x`), "ada");
    assert.equal(arrived.text, "hello from /x");
    openid.people.set("eve", { email: "eve@example.org", email_verified: true, name: "Eve" });
    const other = world.browser();
    assert.equal(codeOf(await openid.signIn(other, await other.visit(`${bound.url}/x`), "eve")), "3105");
  });

  for (const [what, options, scopes] of [
    [
      "oauth",
      {
        oauth_provider: "google",
        oauth_allow_emails: "ada@example.com",
        oauth_allow_domains: ["gmail.com"],
        oauth_scopes: ["openid", "email", "profile"],
        oauth_client_id: clientId,
        oauth_client_secret: clientSecret,
      },
      "openid email profile",
    ],
    [
      "oidc",
      {
        oidc_allow_emails: ["ada@example.com"],
        oidc_allow_domains: "gmail.com",
        oidc_scopes: ["email", "profile"],
        oidc_client_id: clientId,
        oidc_client_secret: clientSecret,
      },
      "openid email profile",
    ],
  ] as const) {
    it(`an agent's endpoint requires a login as the ${what} options of the public SDK's forward() define`, async () => {
      const { platform } = world;
      const bound = await sdk.ask({
        name: "forward",
        forward: {
          addr: world.upstream.port,
          domain: `forward-${what}.localhost`,
          authtoken: platform.authtoken,
          server_addr: `localhost:${platform.agentPort}`,
          session_ca_cert: platform.caPem,
          ...(what === "oidc" && { oidc_issuer_url: openid.issuer }),
          ...(options as object),
        },
      });
      const { headers } = await world.browser().ask(`${bound.url}/x`, { headers: { accept: "text/html" } });
      const asked = new URL(String(headers["location"])).searchParams;
      assert.deepEqual(
        [asked.get("client_id"), asked.get("scope")?.split(" ").toSorted()],
        [clientId, scopes.split(" ").toSorted()],
      );
      const person = async (email: string): Promise<number> => {
        world.providers.person = { ...world.providers.person, email };
        openid.people.set(email, { email, email_verified: true, name: email });
        const browser = world.browser();
        const visited = await browser.visit(`${bound.url}/x`);
        return (what === "oidc" ? await openid.signIn(browser, visited, email) : visited).status;
      };
      assert.deepEqual(
        [await person("ada@example.com"), await person("eve@example.com"), await person("bob@gmail.com")],
        [200, 403, 200],
      );
    });
  }

  /** Our agent, which requires a login like `postern http --saml`. */
  const publish = (host: string, saml: object = {}, pooling = false): Promise<OurAgent> => {
    const { platform, provider, upstream } = world;
    const options = { SAML: { idp_metadata: provider.metadata(), ...saml } };
    return startOurAgent(
      { port: platform.agentPort, ca: platform.caPem, token: platform.authtoken },
      { upstream: upstream.port, url: `https://${host}`, tunnel: { options, pooling } },
    );
  };

  it("an agent's endpoint with SAML accepts logins that start at the provider, for any path below its URL", async () => {
    const agent = await publish("begun.localhost");
    const urls = await world.hostUrls("begun.localhost");
    for (const relayState of [`${agent.url}/a?b=1`, undefined]) {
      const body = world.provider.answer(undefined, urls, relayState === undefined ? {} : { relayState });
      const one = world.browser();
      const arrived = await one.visit(urls.assertion_consumer_service_url, { method: "POST", body });
      assert.deepEqual([arrived.status, arrived.url], [200, relayState ?? `${agent.url}/`], arrived.text);
    }
    const elsewhere = { relayState: `${world.origin("app.localhost")}/` };
    const body = world.provider.answer(undefined, urls, elsewhere);
    const visited = world.browser().visit(urls.assertion_consumer_service_url, { method: "POST", body });
    assert.equal(codeOf(await visited), "5322");
    await agent.close();
  });

  it("I2: an agent's wildcard endpoint requires a login at each of its names", async () => {
    const { platform } = world;
    await platform.api("POST", "/reserved_domains", { domain: "*.wild.example.net" });
    const bound = await sdk.ask({
      name: "http",
      domain: "*.wild.example.net",
      oauth: ["google", ["ada@example.com"], [], undefined, clientId, clientSecret],
    });
    assert.equal(bound.error, undefined, JSON.stringify(bound.error));
    for (const http of protocols) {
      const one = world.browser(http);
      for (const host of ["a.wild.example.net", "b.wild.example.net"]) {
        const url = `${world.origin(host)}/x`;
        assert.equal((await one.ask(url, { headers: { accept: "text/html" } })).status, 302);
        assert.equal((await one.visit(url)).text, "hello from /x");
        assert.equal((await one.ask(url)).status, 200);
      }
    }
  });

  it("an agent's wildcard endpoint with SAML is one service provider, and accepts logins for each of its names", async () => {
    await world.platform.api("POST", "/reserved_domains", { domain: "*.saml.example.net" });
    const agent = await publish("*.saml.example.net");
    const urls = await world.hostUrls("a.saml.example.net");
    assert.match(urls.entity_id, /\/saml\/_\.saml\.example\.net-[0-9a-z]{8}$/);
    assert.equal((await world.hostUrls("b.saml.example.net")).entity_id, urls.entity_id);
    for (const http of protocols) {
      const one = world.browser(http);
      for (const host of ["a.saml.example.net", "b.saml.example.net"]) {
        const url = `${world.origin(host)}/x`;
        assert.equal((await one.ask(url, { headers: { accept: "text/html" } })).status, 302);
        assert.equal((await world.provider.signIn(one, url, urls)).url, url);
        assert.equal((await one.ask(url)).status, 200);
      }
    }
    const begun = (relayState?: string) => {
      const body = world.provider.answer(undefined, urls, relayState === undefined ? {} : { relayState });
      return world.browser().visit(urls.assertion_consumer_service_url, { method: "POST", body });
    };
    const below = `${world.origin("c.saml.example.net")}/y`;
    const arrived = await begun(below);
    assert.deepEqual([arrived.status, arrived.url], [200, below]);
    assert.equal(codeOf(await begun()), "5321");
    assert.equal(codeOf(await begun(`${world.origin("x.c.saml.example.net")}/`)), "5322");
    await agent.close();
  });

  it("an agent's endpoints of one URL share their visitors' logins with SAML", async () => {
    const agents = [await publish("shared.localhost", {}, true), await publish("shared.localhost", {}, true)];
    const urls = await world.hostUrls("shared.localhost");
    const one = world.browser();
    const url = `${world.origin("shared.localhost")}/`;
    assert.equal((await world.provider.signIn(one, url, urls)).status, 200);
    for (let count = 0; count < 20; count += 1) assert.equal((await one.ask(url)).status, 200);
    for (const agent of agents) await agent.close();
  });

  it("I2: an agent's endpoint accepts no session of another SAML provider", async () => {
    const host = "changed.localhost";
    const url = `${world.origin(host)}/`;
    const first = await publish(host);
    const urls = await world.hostUrls(host);
    const one = world.browser();
    assert.equal((await world.provider.signIn(one, url, urls)).status, 200);
    await first.close();
    const other = await makeSamlProvider({ entityId: "https://other.example/saml" });
    const second = await publish(host, { idp_metadata: other.metadata() });
    assert.equal((await world.hostUrls(host)).entity_id, urls.entity_id);
    // The first visitor triggers the request for the metadata.
    const ask = async (): Promise<number> => (await one.ask(url, { headers: { accept: "text/html" } })).status;
    assert.equal(await eventually(ask, (status) => status === 302), 302);
    await second.close();
  });

  it("an agent's traffic policy requires a login with SAML, by the public SDK", async () => {
    const config = { idp_metadata: world.provider.metadata(), auth_id: "staff" };
    const groups = {
      type: "add-headers",
      config: { headers: { "x-groups": "${actions.ngrok.saml.groups.join('+')}" } },
    };
    const trafficPolicy = JSON.stringify({
      on_http_request: [{ actions: [{ type: "saml", config }] }, { actions: [groups] }],
    });
    const bound = await sdk.ask({
      name: "http",
      domain: "ruled.localhost",
      target: world.upstream.port,
      trafficPolicy,
    });
    assert.equal(bound.error, undefined, JSON.stringify(bound.error));
    const urls = await world.hostUrls("ruled.localhost", "staff");
    assert.match(urls.entity_id, /\/saml\/ruled\.localhost-[0-9a-z]{8}-rule-staff$/);
    for (const http of protocols) {
      const arrived = await world.provider.signIn(world.browser(http), `${bound.url}/x`, urls);
      assert.equal(seen(arrived)["x-groups"], "staff+admins", arrived.text);
    }
  });

  it("an agent's endpoint is not opened with an invalid login configuration", async () => {
    for (const oauth of [["nobody"], ["google", [], [], ["extra"]]] as const) {
      await assert.rejects(
        sdk.ask({ name: "http", domain: "no.localhost", oauth: oauth as never }),
        /oauth|scopes|provider/i,
      );
    }
  });

  it("an agent's endpoint requires a login with SAML, under an entity ID that outlives agent and server", async () => {
    const host = "saml.localhost";
    const first = await publish(host, { authorized_groups: ["staff"], allow_idp_initiated: false });
    const urls = await world.hostUrls(host);
    assert.match(urls.entity_id, /\/saml\/saml\.localhost-[0-9a-z]{8}$/);
    const visitors = [];
    for (const http of protocols) {
      const one = world.browser(http);
      const arrived = await world.provider.signIn(one, `${first.url}/x?a=1`, urls);
      assert.deepEqual([arrived.status, arrived.url], [200, `${first.url}/x?a=1`], arrived.text);
      const guest = { said: { attributes: { groups: ["guests"] } } };
      const refused = await world.provider.signIn(world.browser(http), `${first.url}/x`, urls, guest);
      assert.equal(codeOf(refused), "5312");
      visitors.push(one);
    }
    const begun = world.provider.answer(undefined, urls, { relayState: `${first.url}/` });
    const visited = world.browser().visit(urls.assertion_consumer_service_url, { method: "POST", body: begun });
    assert.equal(codeOf(await visited), "5317");
    const late = world.browser();
    const page = await late.visit(`${first.url}/late`, { stop: (url) => url.startsWith("https://id.example/") });
    const answer = world.provider.answer(world.provider.read(page, urls), urls);
    await first.close();
    await world.platform.restart();
    const again = await publish(host, { authorized_groups: ["staff"], allow_idp_initiated: false });
    assert.deepEqual(await world.hostUrls(host), urls);
    const arrived = await late.visit(urls.assertion_consumer_service_url, { method: "POST", body: answer });
    assert.equal(arrived.url, `${again.url}/late`, arrived.text);
    for (const one of visitors) assert.equal((await one.ask(`${again.url}/`)).status, 200);
    await again.close();
  });
});
