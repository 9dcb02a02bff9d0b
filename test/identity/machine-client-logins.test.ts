/** Clients that are not browsers, with each kind of login, by modules and by rules of traffic policies. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { issuerTag } from "../../src/identity/browser/realm.ts";
import type { Browser, Visited } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import { seen } from "../support/login-world.ts";
import {
  askForm,
  authorizationUrl,
  decide,
  discover,
  exchange,
  json,
  logIn,
  received,
  refresh,
  register,
} from "../support/oauth-client.ts";
import type { Asked, Tokens } from "../support/oauth-client.ts";
import type { Person } from "../support/oauth-providers.ts";
import { startOpenIdProvider } from "../support/openid.ts";
import type { OpenIdProvider } from "../support/openid.ts";
import { databases } from "../support/postgres.ts";
import { startSamlWorld } from "../support/saml-world.ts";
import type { SamlWorld } from "../support/saml-world.ts";

const ada: Person = {
  id: "4711",
  name: "Ada Lovelace",
  login: "ada",
  email: "ada@example.com",
  verified: true,
  hd: "example.com",
};
const machine_clients = {
  enabled: true,
  scopes: ["access", "write"],
  scope_rules: [{ scope: "write", expression: 'mcp.tool == "store"' }],
};
const bearer = (token: string) => ({ accept: "application/json", authorization: `Bearer ${token}` });
const ruleOf = (type: string, config: object): object => ({
  traffic_policy: { value: JSON.stringify({ on_http_request: [{ actions: [{ type, config }] }] }) },
});

interface Login {
  readonly path: string;
  /** Brings the person from the client's URL to the consent page. */
  signIn(one: Browser, url: string): Promise<Visited>;
}

for (const { name, create } of databases) {
  describe(`logins of clients that are not browsers, on ${name}`, { timeout: 240_000 }, () => {
    let world: SamlWorld;
    let openid: OpenIdProvider;
    let drop: () => Promise<void>;
    const logins = new Map<string, Login>();
    before(async () => {
      const database = await create();
      ({ drop } = database);
      world = await startSamlWorld({ database: database.url });
      Object.assign(world.providers, { person: ada });
      const account = (await world.platform.api("GET", "/accounts")).body.accounts[0].id;
      openid = await startOpenIdProvider((issuer) => ({
        clientId: "op-client",
        clientSecret: "op-secret",
        redirectUris: [`${world.origin("idp.localhost")}/oauth2/callback/${issuerTag(account, issuer)}`],
      }));
      await addLogins();
    });
    after(async () => {
      await openid.stop();
      await world.stop();
      await drop();
    });
    const byOpenId = async (one: Browser, url: string): Promise<Visited> =>
      await openid.signIn(one, await one.visit(url), "ada");
    const addLogins = async (): Promise<void> => {
      const op = { client_id: "op-client", client_secret: "op-secret" };
      const google = { provider: { google: { email_domains: ["example.com"] } }, machine_clients };
      await world.route("/google", { oauth: google });
      logins.set("Google", { path: "/google", signIn: logIn });
      await world.route("/oidc", { oidc: { issuer: openid.issuer, ...op, machine_clients } });
      logins.set("OpenID Connect", { path: "/oidc", signIn: byOpenId });
      const module = await world.samlRoute("/saml", { machine_clients });
      logins.set("SAML", { path: "/saml", signIn: (one, url) => world.provider.signIn(one, url, module) });
      const own = { provider: "github", auth_id: "rule", email_addresses: ["ada@example.com"], machine_clients };
      await world.route("/rule-oauth", ruleOf("oauth", own));
      logins.set("a rule with OAuth", { path: "/rule-oauth", signIn: logIn });
      const issuer = { issuer_url: openid.issuer, ...op, auth_id: "rule", machine_clients };
      await world.route("/rule-oidc", ruleOf("openid-connect", issuer));
      logins.set("a rule with OpenID Connect", { path: "/rule-oidc", signIn: byOpenId });
      const saml = { idp_metadata: world.provider.metadata(), auth_id: "rule", machine_clients };
      const rule = await world.ruleUrls(await world.route("/rule-saml", ruleOf("saml", saml)), "rule");
      logins.set("a rule with SAML", {
        path: "/rule-saml",
        signIn: (one, url) => world.provider.signIn(one, url, rule),
      });
    };
    const tokensBy = async (login: Login, one: Browser, asked: Asked): Promise<Tokens> => {
      const begun = authorizationUrl(asked);
      const page = await login.signIn(one, begun.url);
      assert.equal(page.status, 200, page.text);
      assert.ok(page.text.includes("ada@example.com"), page.text);
      const code = received(await decide(one, page, "allow")).get("code") ?? "";
      const answer = await exchange(one, asked, { code, verifier: begun.verifier });
      assert.equal(answer.status, 200, answer.text);
      return json(answer) as Tokens;
    };

    for (const http of protocols) {
      for (const kind of ["Google", "OpenID Connect", "SAML"].flatMap((one) => [
        one,
        `a rule with ${one.replace("Google", "OAuth")}`,
      ])) {
        it(`a client on ${name} over ${http} gets, renews, steps up and revokes tokens by ${kind}`, async () => {
          const login = logins.get(kind) as Login;
          const url = world.origin() + login.path;
          const one = world.browser(http);
          const { server, resource } = await discover(one, url);
          assert.equal(resource, url);
          const asked = { server, resource, clientId: await register(one, server) };
          const first = await tokensBy(login, one, asked);
          const call = async (token: string, tool = "look") => {
            const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool } });
            return await one.ask(url, { method: "POST", body, headers: bearer(token) });
          };
          const served = await call(first.access_token);
          assert.equal(served.status, 200, served.text);
          assert.ok(served.text.includes("ada@example.com"), served.text);
          assert.ok(seen(served)["postern-assertion"]);
          assert.ok(!served.text.includes("postern_oa_"), served.text);
          const lacking = await call(first.access_token, "store");
          assert.equal(lacking.status, 403, lacking.text);
          assert.match(String(lacking.headers["www-authenticate"]), /error="insufficient_scope".*scope="access write"/);
          const more = await tokensBy(login, world.browser(http), { ...asked, scope: "access write" });
          assert.equal((await call(more.access_token, "store")).status, 200);
          const renewed = json(await refresh(one, asked, first.refresh_token)) as Tokens;
          assert.equal((await call(renewed.access_token)).status, 200);
          const revocation = { token: renewed.refresh_token, client_id: asked.clientId };
          assert.equal((await askForm(one, server.revocation_endpoint, revocation)).status, 200);
          await eventually(
            async () => (await call(renewed.access_token)).status,
            (status) => status === 401,
          );
          assert.equal((await call(more.access_token, "store")).status, 200, "the other grant is independent");
        });
      }
    }

    it(`a client on ${name} keeps its tokens over a restart, for modules and rules`, async () => {
      const issued: [string, Tokens, Asked][] = [];
      for (const kind of ["Google", "a rule with SAML"]) {
        const login = logins.get(kind) as Login;
        const one = world.browser();
        const url = world.origin() + login.path;
        const { server, resource } = await discover(one, url);
        const asked = { server, resource, clientId: await register(one, server) };
        issued.push([url, await tokensBy(login, one, asked), asked]);
      }
      await world.platform.restart();
      for (const [url, tokens, asked] of issued) {
        const one = world.browser();
        assert.equal((await one.ask(url, { headers: bearer(tokens.access_token) })).status, 200);
        const renewed = json(await refresh(one, asked, tokens.refresh_token)) as Tokens;
        assert.equal((await one.ask(url, { headers: bearer(renewed.access_token) })).status, 200);
        assert.equal((await refresh(one, asked, tokens.refresh_token)).status, 400, "a used token is refused");
      }
    });

    it(`a client on ${name} gets tokens for a cloud endpoint whose rule requires the login`, async () => {
      const rules = [
        { actions: [{ type: "oauth", config: { provider: "github", machine_clients } }] },
        { actions: [{ type: "custom-response", config: { body: "${actions.ngrok.oauth.identity.email}" } }] },
      ];
      const made = await world.platform.api("POST", "/endpoints", {
        url: "https://cloud.localhost",
        type: "cloud",
        traffic_policy: JSON.stringify({ on_http_request: rules }),
      });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      const one = world.browser();
      const url = `${world.origin("cloud.localhost")}/mcp`;
      const { server, resource } = await discover(one, url);
      const asked = { server, resource, clientId: await register(one, server) };
      const { access_token } = await tokensBy({ path: "", signIn: logIn }, one, asked);
      assert.equal((await one.ask(url, { headers: bearer(access_token) })).text, "ada@example.com");
      assert.equal((await one.ask(`${world.origin()}/google`, { headers: bearer(access_token) })).status, 401);
    });
  });
}
