import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { openBrowser } from "../support/browser.ts";
import { codeOf, startLoginWorld } from "../support/login-world.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import { startOpenIdProvider } from "../support/openid.ts";
import type { OpenIdProvider } from "../support/openid.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { issuerTag } from "../../src/identity/browser/realm.ts";

describe("a route whose visitors log in with an OpenID provider", () => {
  let platform: TestPlatform;
  let upstream: HttpService;
  let provider: OpenIdProvider;
  let origin: string;
  before(async () => {
    platform = await startPlatform({ allowLocalUpstreams: true });
    upstream = await startHttpService((request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ url: request.url, headers: request.headers }));
    });
    const account = (await platform.api("GET", "/accounts")).body.accounts?.[0]?.id;
    const idp = `https://idp.localhost:${platform.httpsPort}`;
    provider = await startOpenIdProvider((issuer) => ({
      clientId: "postern",
      clientSecret: "a-secret-of-tests",
      redirectUris: [`${idp}/oauth2/callback/${issuerTag(account, issuer)}`],
      logoutUris: [`${idp}/logged-out`],
    }));
    const edge = (await platform.api("POST", "/edges/https", { hostports: ["app.localhost:443"] })).body;
    const backend = (await platform.api("POST", "/backends/static", { address: `127.0.0.1:${upstream.port}` })).body;
    const route = await platform.api("POST", `/edges/https/${edge.id}/routes`, {
      match_type: "path_prefix",
      match: "/",
      backend: { backend_id: backend.id },
      oidc: { issuer: provider.issuer, client_id: "postern", client_secret: "a-secret-of-tests" },
    });
    assert.equal(route.status, 201, JSON.stringify(route.body));
    origin = `https://app.localhost:${platform.httpsPort}`;
  });
  after(async () => {
    await platform.stop();
    await upstream.stop();
    await provider.stop();
  });

  for (const http of ["h1", "h2"] as const) {
    it(`a route whose visitors log in with an OpenID provider admits them and sends the service their identity, over ${http}`, async () => {
      const browser = openBrowser({ ca: platform.caPem, http });
      const page = await browser.visit(`${origin}/a?b=1`);
      assert.match(page.url, /\/interaction\//, `${page.status} ${page.text}`);
      const arrived = await provider.signIn(browser, page, "ada");
      assert.equal(arrived.url, `${origin}/a?b=1`, arrived.text);
      assert.equal(arrived.status, 200);
      const seen = JSON.parse(arrived.text) as { url: string; headers: Record<string, string> };
      assert.equal(seen.url, "/a?b=1");
      assert.equal(seen.headers["ngrok-auth-user-id"], "ada");
      assert.equal(seen.headers["ngrok-auth-user-email"], "ada@example.com");
      assert.equal(seen.headers["ngrok-auth-user-name"], "Ada Lovelace");
      assert.equal(seen.headers["cookie"], undefined);
    });
  }

  it("a route whose visitors log in with an OpenID provider has sessions that an operator lists and ends", async () => {
    const browser = openBrowser({ ca: platform.caPem });
    await provider.signIn(browser, await browser.visit(`${origin}/`), "ada");
    const users = (await platform.api("GET", "/app/users")).body.application_users;
    assert.equal(users.length, 1);
    assert.equal(users[0].email, "ada@example.com");
    const sessions = (await platform.api("GET", "/app/sessions")).body.application_sessions;
    assert.equal(sessions.length, 3);
    assert.equal((await browser.ask(`${origin}/`)).status, 200);
    const ended = await platform.api("DELETE", `/app/users/${users[0].id}`);
    assert.equal(ended.status, 204);
    const again = await browser.ask(`${origin}/`, { headers: { accept: "text/html" } });
    assert.equal(again.status, 302);
  });
});

describe("a server whose OpenID issuers share one callback", () => {
  it("a server whose OpenID issuers share one callback returns visitors there and nowhere else, and shows the callback", async () => {
    const [world, issuer] = await Promise.all([startLoginWorld({ oidcSharedCallback: true }), startOwnIssuer()]);
    try {
      const { api } = world.platform;
      const told = (await api("GET", `/login_addresses?issuer=${encodeURIComponent(issuer.url)}`)).body;
      assert.equal(told.redirect_uri, `${world.origin("idp.localhost")}/oauth2/callback`);
      issuer.callbacks = [told.redirect_uri];
      await world.route("/", { oidc: { issuer: issuer.url, client_id: "c", client_secret: "secret" } });
      assert.equal((await world.browser().visit(world.origin())).status, 200);
      const one = world.browser();
      const isBack = (url: string): boolean => url.startsWith(told.redirect_uri);
      const back = String((await one.visit(world.origin(), { stop: isBack })).headers.location);
      const account = (await api("GET", "/accounts")).body.accounts[0].id;
      const tagged = back.replace("/callback?", `/callback/${issuerTag(account, issuer.url)}?`);
      assert.equal(codeOf(await one.visit(tagged)), errorCode("login_elsewhere").replace("ERR_POSTERN_", ""));
    } finally {
      await world.stop();
      await issuer.stop();
    }
  });
});
