/** Data about logins by rules of traffic policies, for other rules, operators and other parts of the server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { issuerTag } from "../../src/identity/browser/realm.ts";
import type { Visited } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { startOurAgent } from "../support/our-agent.ts";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { protocols } from "../support/http-client.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import { startOpenIdProvider } from "../support/openid.ts";
import type { OpenIdProvider } from "../support/openid.ts";
import type { ApiBody } from "../support/platform.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";

const html = { accept: "text/html" };
const ada = { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true };
const oauth = (config: object = {}): object => ({ type: "oauth", config: { provider: "github", ...config } });
const own = { client_id: clientId, client_secret: clientSecret };
const textOf = (rules: readonly object[], responses: readonly object[] = []): string =>
  JSON.stringify({ on_http_request: rules, on_http_response: responses });

describe("a login by a rule", { timeout: 240_000 }, () => {
  let world: LoginWorld;
  let openid: OpenIdProvider;
  let sdk: SdkProcess;
  let account: string;
  const at = (path: string): string => world.origin() + path;
  const policy = (...given: Parameters<typeof textOf>): object => ({ traffic_policy: { value: textOf(...given) } });
  const oidc = (config: object = {}): object => ({
    type: "openid-connect",
    config: { issuer_url: openid.issuer, client_id: "op-client", client_secret: "op-secret", ...config },
  });
  before(async () => {
    world = await startLoginWorld();
    account = (await world.platform.api("GET", "/accounts")).body.accounts[0].id;
    openid = await startOpenIdProvider((issuer) => ({
      clientId: "op-client",
      clientSecret: "op-secret",
      redirectUris: [`${world.origin("idp.localhost")}/oauth2/callback/${issuerTag(account, issuer)}`],
      logoutUris: [`${world.origin("idp.localhost")}/logged-out`],
    }));
    world.providers.person = ada;
    sdk = await startSdk();
    const { platform } = world;
    await sdk.ask({ name: "connect", port: platform.agentPort, ca: platform.caPem, token: platform.authtoken });
  });
  after(async () => {
    await sdk.stop();
    await openid.stop();
    await world.stop();
  });

  it("a login by a rule is available to later rules, including those of responses", async () => {
    const headers = {
      "x-id": "${actions.ngrok.oauth.identity.id}",
      "x-who":
        "${actions.ngrok.oauth.identity.provider_user_id} ${actions.ngrok.oauth.identity.email} ${actions.ngrok.oauth.identity.email_verified}",
      "x-session": "${actions.ngrok.oauth.identity.current_provider_session_id}",
      "x-token": "${actions.ngrok.oauth.access_token}",
      "x-times": "${actions.ngrok.oauth.session_timed_out} ${actions.ngrok.oauth.userinfo_refreshed}",
      "x-expires": "${actions.ngrok.oauth.expires_at}",
    };
    const rules = [
      { actions: [oauth({ ...own, auth_id: "facts", max_session_duration: "1h" })] },
      {
        expressions: ["actions.ngrok.oauth.identity.email == 'eve@example.com'"],
        actions: [{ type: "deny", config: { status_code: 451 } }],
      },
      { actions: [{ type: "add-headers", config: { headers } }] },
    ];
    const name = "${actions.ngrok.oauth.identity.name}";
    const responses = [{ actions: [{ type: "add-headers", config: { headers: { "x-name": name } } }] }];
    await world.route("/facts", policy(rules, responses));
    for (const http of protocols) {
      const browser = world.browser(http);
      const first = await browser.ask(at("/facts"), { headers: html });
      assert.deepEqual([first.status, first.headers["x-name"]], [302, undefined], "no rule acts on who is sent away");
      const began = Date.now();
      const arrived = await browser.visit(at("/facts"));
      const told = seen(arrived);
      assert.match(String(told["x-id"]), /^appusr_/);
      assert.equal(told["x-who"], "4711 ada@example.com true");
      assert.match(String(told["x-session"]), /^appses_/);
      assert.equal(told["x-token"], told["ngrok-auth-oauth-access-token"]);
      assert.ok(String(told["x-token"]).length > 3);
      assert.equal(told["x-times"], "false false");
      const lasts = Date.parse(String(told["x-expires"])) - began;
      assert.ok(lasts > 3_500_000 && lasts <= 3_700_000, String(told["x-expires"]));
      assert.equal(arrived.headers["x-name"], "Ada Lovelace");
      world.providers.person = { ...ada, id: "666", email: "eve@example.com" };
      assert.equal((await world.browser(http).visit(at("/facts"))).status, 451);
      world.providers.person = ada;
    }
  });

  it("a login by a rule is listed, ended and preserved over a restart like a module's", async () => {
    const routeId = await world.route("/listed", policy([{ actions: [oauth({ auth_id: "listed" })] }]));
    const of = async (): Promise<ApiBody[]> =>
      (await world.platform.api("GET", "/app/sessions?limit=100")).body.application_sessions.filter(
        ({ route }: ApiBody) => route?.id === routeId,
      );
    const browser = world.browser();
    await browser.visit(at("/listed"));
    const [session] = await of();
    assert.equal(session?.edge?.id, world.edgeId);
    await world.platform.restart();
    assert.equal((await browser.ask(at("/listed"), { headers: html })).status, 200);
    assert.equal((await world.platform.api("DELETE", `/app/sessions/${session?.id}`)).status, 204);
    assert.equal((await browser.ask(at("/listed"), { headers: html })).status, 302);
    assert.deepEqual(await of(), []);
    await sdk.ask({ name: "closeSession" });
    const { platform } = world;
    await sdk.ask({ name: "connect", port: platform.agentPort, ca: platform.caPem, token: platform.authtoken });
  });

  it("a login by a rule ends by its age and its idle time, and is refreshed, as the rule defines", async () => {
    const headers = {
      "x-fresh": "${actions.ngrok.oauth.userinfo_refreshed}",
      "x-tokens": "${actions.ngrok.oauth.access_token}${actions.ngrok.oauth.refresh_token}.",
    };
    const add = { type: "add-headers", config: { headers } };
    const times = [
      ["/age", { max_session_duration: "1s" }],
      ["/fresh", { userinfo_refresh_interval: "1s" }],
    ] as const;
    for (const [path, config] of times) {
      await world.route(path, policy([{ actions: [oauth({ auth_id: path, ...config }), add] }]));
    }
    for (const http of protocols) {
      const until = async (path: string, isIt: (one: Visited) => boolean): Promise<Visited> => {
        // A response that is in progress when the login ends is cut off.
        const ask = () => browser.ask(at(path), { headers: html }).catch(() => undefined);
        return (await eventually(ask, (answer) => answer !== undefined && isIt(answer), 20)) as Visited;
      };
      const browser = world.browser(http);
      assert.equal((await browser.visit(at("/age"))).status, 200);
      assert.equal((await until("/age", ({ status }) => status !== 200)).status, 302);
      await browser.visit(at("/fresh"));
      const isFresh = (one: { readonly text: string }): boolean => seen(one)["x-fresh"] === "true";
      const refreshed = await until("/fresh", isFresh);
      assert.equal(seen(refreshed)["ngrok-auth-user-id"], "4711");
      // The server keeps the token for its own requests to the provider.
      assert.equal(seen(refreshed)["x-tokens"], ".");
      assert.equal(seen(refreshed)["ngrok-auth-oauth-access-token"], undefined);
      assert.ok(isFresh(refreshed));
    }
  });

  it("a login by a rule reads its client's secret from a vault, and applies a new one immediately", async () => {
    const { platform } = world;
    const vault = (await platform.api("POST", "/vaults", { name: "logins" })).body;
    const secret = (await platform.api("POST", "/vault_secrets", { name: "gh", value: "wrong", vault_id: vault.id }))
      .body;
    const client = { client_id: clientId, client_secret: "${secrets.get('logins', 'gh')}", auth_id: "vault" };
    await world.route("/vault", policy([{ actions: [oauth(client)] }]));
    assert.equal(codeOf(await world.browser().visit(at("/vault"))), "3125");
    assert.equal((await platform.api("PATCH", `/vault_secrets/${secret.id}`, { value: clientSecret })).status, 200);
    const browser = world.browser();
    assert.equal((await browser.visit(at("/vault"))).status, 200);
    assert.equal((await platform.api("PATCH", `/vault_secrets/${secret.id}`, { value: "another" })).status, 200);
    assert.equal((await browser.ask(at("/vault"), { headers: html })).status, 200, "who has come before stays");
    assert.equal(codeOf(await world.browser().visit(at("/vault"))), "3125");
    assert.equal((await platform.api("DELETE", `/vault_secrets/${secret.id}`)).status, 204);
    assert.equal(codeOf(await browser.ask(at("/vault"), { headers: html })), "2253");
  });

  it("a login by a rule is explained without starting it, and nothing of a token is shown", async () => {
    const reads =
      "actions.ngrok.oauth.access_token != '' && actions.ngrok.oauth.identity.email.endsWith('example.com')";
    const rules = [
      { actions: [oauth({ ...own, auth_id: "explained" })] },
      { expressions: [reads], actions: [{ type: "set-vars", config: { vars: [{ a: "1" }] } }] },
    ];
    await world.route("/explained", policy(rules));
    await world.browser().visit(at("/explained"));
    const explain = async (as?: object): Promise<ApiBody> => {
      const asked = { method: "GET", url: at("/explained"), headers: html, ...(as && { as }) };
      return (await world.platform.api("POST", `/edges/https/${world.edgeId}/explain`, asked)).body;
    };
    const calls = world.providers.calls.length;
    const nobody = JSON.stringify(await explain());
    assert.match(nobody, /sent to GitHub to log in/);
    const told = JSON.stringify(await explain({ email: "ada@example.com" }));
    assert.match(told, /everyone who has logged in has access/);
    assert.match(told, /"\*\*\*|•••/);
    assert.equal(world.providers.calls.length, calls);
  });

  it("a login by a rule is in variables and traces like a module's, also if it rejects the visitor", async () => {
    const add = { "x-told": "${.oauth.decision} ${.oauth.user.email}" };
    const rules = [{ actions: [oauth({ auth_id: "told", email_addresses: ["ada@example.com"] })] }];
    await world.route("/told", { ...policy(rules), request_headers: { add }, response_headers: { add } });
    const browser = world.browser();
    assert.equal(seen(await browser.visit(at("/told")))["x-told"], "allow ada@example.com");
    const sent = await world.browser().ask(at("/told"), { headers: html });
    const { steps } = (await world.platform.api("GET", `/requests/${String(sent.headers["x-request-id"])}`)).body;
    const [own] = steps.filter(({ by }: ApiBody) => by === "oauth");
    assert.deepEqual([own?.outcome, /sent to GitHub/.test(own?.reason)], ["answered", true]);
  });

  it("a login by a rule lets CORS preflight requests pass if configured, and no other OPTIONS requests", async () => {
    await world.route("/cors", policy([{ actions: [oauth({ auth_id: "cors", allow_cors_preflight: true })] }]));
    const headers = { origin: "https://shop.example", "access-control-request-method": "PUT" };
    for (const http of protocols) {
      const ask = async (given: Readonly<Record<string, string>>) =>
        (await world.browser(http).ask(at("/cors"), { method: "OPTIONS", headers: given })).status;
      assert.equal(await ask(headers), 200);
      assert.equal(await ask({ origin: "https://shop.example" }), 401);
      assert.equal(await ask({}), 401);
    }
  });

  it("a login by a rule sends its additional configured parameters to the provider", async () => {
    const config = { auth_id: "parameters", authz_url_params: { login_hint: "ada", prompt: "none" } };
    await world.route("/parameters", policy([{ actions: [oidc(config)] }]));
    const sent = await world.browser().ask(at("/parameters"), { headers: html });
    const { searchParams } = new URL(String(sent.headers.location));
    assert.equal(searchParams.get("login_hint"), "ada");
    assert.equal(searchParams.get("prompt"), "none");
    assert.equal(searchParams.get("client_id"), "op-client");
    // Configured parameters override the defaults.
    const own = { auth_id: "own", scopes: ["openid", "offline_access"] };
    for (const [match, more, prompt] of [
      ["/consent", {}, "consent"],
      ["/silent", { authz_url_params: { prompt: "none" } }, "none"],
    ] as const) {
      await world.route(match, policy([{ actions: [oidc({ ...own, ...more })] }]));
      const { headers } = await world.browser().ask(at(match), { headers: html });
      assert.equal(new URL(String(headers.location)).searchParams.get("prompt"), prompt);
    }
  });

  it("a login by a rule of a cloud endpoint returns to the endpoint", async () => {
    const found = "${actions.ngrok.oidc.identity.provider_user_id}";
    const rules = [
      { actions: [oidc()] },
      { actions: [{ type: "custom-response", config: { body: `hello ${found} at \${req.url.path}` } }] },
    ];
    const made = await world.platform.api("POST", "/endpoints", {
      url: "https://cloud.localhost",
      type: "cloud",
      traffic_policy: textOf(rules),
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    for (const http of protocols) {
      const browser = world.browser(http);
      const page = await browser.visit(`${world.origin("cloud.localhost")}/deep?a=1`);
      const arrived = await openid.signIn(browser, page, "ada");
      assert.equal(arrived.text, "hello ada at /deep");
    }
    const sessions: ApiBody[] = (await world.platform.api("GET", "/app/sessions?limit=100")).body.application_sessions;
    const [mine] = sessions.filter(({ public_url }) => String(public_url).includes("cloud.localhost"));
    assert.deepEqual([mine?.endpoint?.id, mine?.edge, mine?.route], [made.body.id, null, null]);
  });

  it("a login by a rule is shared by several endpoints of one URL, whichever of them it started and ended at", async () => {
    for (const name of ["a", "b"]) {
      const says = { type: "custom-response", config: { body: name } };
      const made = await world.platform.api("POST", "/endpoints", {
        url: "https://pooled.localhost",
        type: "cloud",
        pooling_enabled: true,
        traffic_policy: textOf([{ actions: [oauth()] }, { actions: [says] }]),
      });
      assert.equal(made.status, 201, JSON.stringify(made.body));
    }
    const url = world.origin("pooled.localhost");
    for (const http of protocols) {
      for (let login = 0; login < 8; login += 1) {
        assert.equal((await world.browser(http).visit(`${url}/`)).status, 200);
      }
      const browser = world.browser(http);
      await browser.visit(`${url}/`);
      const answers = new Set<string>();
      // Fifty choices between two endpoints never all select the same one.
      for (let count = 0; count < 50; count += 1) {
        const { status, text } = await browser.ask(`${url}/`, { headers: html });
        answers.add(`${status} ${text}`);
      }
      assert.deepEqual([...answers].sort(), ["200 a", "200 b"]);
    }
  });

  it("a login by a rule of an agent's policy works with our agent and with the public SDK", async () => {
    const trafficPolicy = textOf([{ actions: [oauth({ ...own, email_addresses: ["ada@example.com"] })] }]);
    const bound = await sdk.ask({ name: "http", domain: "sdk.localhost", trafficPolicy });
    const { platform } = world;
    const agent = await startOurAgent(
      { port: platform.agentPort, ca: platform.caPem, token: platform.authtoken },
      { upstream: world.upstream.port, url: "https://ours.localhost", tunnel: { trafficPolicy } },
    );
    for (const http of protocols) {
      for (const url of [bound.url, agent.url]) {
        world.providers.person = ada;
        const arrived = await world.browser(http).visit(`${url}/x`);
        assert.equal(`${arrived.status} ${arrived.url}`, `200 ${url}/x`, arrived.text);
        world.providers.person = { ...ada, email: "eve@example.com" };
        assert.equal(codeOf(await world.browser(http).visit(`${url}/x`)), "3105");
      }
    }
    world.providers.person = ada;
    await agent.close();
    const internal = sdk.ask({ name: "http", domain: "sso.internal", trafficPolicy });
    await assert.rejects(internal, /configure the login at the public endpoint/);
    const secret = textOf([{ actions: [oauth({ ...own, client_secret: "${secrets.get('a', 'b')}" })] }]);
    await assert.rejects(sdk.ask({ name: "http", domain: "no.localhost", trafficPolicy: secret }), /secrets/);
  });
});
