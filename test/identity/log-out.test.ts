import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { issuerTag } from "../../src/identity/browser/realm.ts";
import { codeOf, seen, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import { startOpenIdProvider } from "../support/openid.ts";
import type { OpenIdProvider } from "../support/openid.ts";
import type { Browser } from "../support/browser.ts";

const html = { accept: "text/html" };

describe("an OpenID provider's sessions", () => {
  let world: LoginWorld;
  let provider: OpenIdProvider;
  let second: OpenIdProvider;
  let tag: string;
  before(async () => {
    world = await startLoginWorld();
    const account = (await world.platform.api("GET", "/accounts")).body.accounts[0].id;
    const idp = world.origin("idp.localhost");
    const start = () =>
      startOpenIdProvider((issuer) => {
        tag = issuerTag(account, issuer);
        return {
          clientId,
          clientSecret,
          redirectUris: [`${idp}/oauth2/callback/${issuerTag(account, issuer)}`],
          logoutUris: [`${idp}/logged-out`],
        };
      });
    second = await start();
    provider = await start();
    await world.route("/", { oidc: { issuer: provider.issuer, client_id: clientId, client_secret: clientSecret } });
    await world.route("/second", { oidc: { issuer: second.issuer, client_id: clientId, client_secret: clientSecret } });
  });
  after(async () => {
    await world.stop();
    await provider.stop();
    await second.stop();
  });
  const at = (path: string): string => world.origin() + path;
  const signedIn = async (): Promise<Browser> => {
    const browser = world.browser();
    const arrived = await provider.signIn(browser, await browser.visit(at("/")), "ada");
    assert.equal(arrived.status, 200, arrived.text);
    return browser;
  };

  it("an OpenID provider's sessions also end at the provider, on a page that logs no one in", async () => {
    const browser = await signedIn();
    const left = await browser.ask(at("/.postern/logout"), {
      method: "POST",
      body: "",
      headers: { origin: world.origin() },
    });
    assert.equal(left.status, 303);
    const location = new URL(String(left.headers.location));
    assert.equal(location.origin, provider.issuer);
    assert.equal(location.searchParams.get("post_logout_redirect_uri"), `${world.origin("idp.localhost")}/logged-out`);
    assert.ok(location.searchParams.has("id_token_hint"));
    const asked = await browser.visit(location.href);
    const form = /name="xsrf" value="([^"]+)"/.exec(asked.text)?.[1] ?? "";
    const action = /action="([^"]+)"/.exec(asked.text)?.[1] ?? "";
    const done = await browser.visit(action, { method: "POST", body: `xsrf=${form}&logout=yes` });
    assert.equal(done.url.split("?")[0], `${world.origin("idp.localhost")}/logged-out`);
    assert.match(done.text, /You are logged out/);
    // The provider asks for the name again.
    assert.match((await browser.visit(at("/"))).url, /\/interaction\//);
  });

  it("an OpenID provider's sessions are restored without a prompt if only Postern has forgotten them", async () => {
    const browser = await signedIn();
    const [session] = (await world.platform.api("GET", "/app/sessions")).body.application_sessions;
    await world.platform.api("DELETE", `/app/sessions/${session.id}`);
    assert.equal((await browser.visit(at("/"))).status, 200);
  });

  it("an OpenID provider's sessions are requested again if the visitor explicitly requests the login", async () => {
    const browser = await signedIn();
    const again = await browser.visit(`${at("/.postern/login")}?path=/x`);
    assert.match(again.url, /\/interaction\//);
    const arrived = await provider.signIn(browser, again, "ada");
    assert.equal(arrived.url, at("/x"));
  });

  it("an OpenID provider's sessions send their tokens to the service, because the client belongs to the tenant", async () => {
    const browser = await signedIn();
    assert.ok(seen(await browser.ask(at("/")))["ngrok-auth-oauth-access-token"]);
  });

  it("I1: an OpenID provider's sessions end only by the issuer's own logout token", async () => {
    const browser = await signedIn();
    const url = `${world.origin("idp.localhost")}/oidc/${tag}/backchannel-logout`;
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const unsigned = `${part({ alg: "none" })}.${part({ iss: provider.issuer, aud: clientId, sub: "ada", jti: "1", events: {} })}.x`;
    for (const body of ["", "logout_token=x", `logout_token=${unsigned}`, `logout_token=a&logout_token=b`]) {
      const answer = await world.browser().ask(url, { method: "POST", body });
      assert.equal(answer.status, 400, body);
    }
    assert.equal((await world.browser().ask(url)).status, 405);
    assert.equal((await browser.ask(at("/"), { headers: html })).status, 200);
  });

  it("I2: an OpenID provider's sessions end only at their own host, whatever cookie is sent to another", async () => {
    const browser = await signedIn();
    const held = browser.cookies(at("/")).split("; ");
    const [name = "", value = ""] = held.find((one) => one.includes("session."))?.split("=") ?? [];
    const thief = world.browser();
    thief.setCookie(world.origin("other.localhost"), name, value);
    const elsewhere = `${world.origin("other.localhost")}/.postern/`;
    const left = await thief.ask(`${elsewhere}logout`, {
      method: "POST",
      body: "",
      headers: { origin: world.origin("other.localhost") },
    });
    assert.match(left.text, /You are logged out/);
    assert.equal((await browser.ask(at("/"), { headers: html })).status, 200);
    thief.setCookie(world.origin("other.localhost"), name, value);
    assert.equal((await thief.ask(`${elsewhere}session`)).status, 401);
  });

  it("2.1: an OpenID provider's sessions start only at the path of their own issuer", async () => {
    const browser = world.browser();
    const page = await browser.visit(at("/second"));
    const began = browser.asked.find((url) => url.startsWith(`${second.issuer}/auth`));
    const state = new URL(began as string).searchParams.get("state");
    assert.match(page.url, /\/interaction\//);
    const mixed = await browser.ask(
      `${world.origin("idp.localhost")}/oauth2/callback/${tag}?code=x&state=${state}&iss=${encodeURIComponent(provider.issuer)}`,
      { headers: html },
    );
    assert.equal(codeOf(mixed), "3124");
    const skipped = await browser.ask(
      `${at("/.postern/callback")}?code=x&state=${state}&iss=${encodeURIComponent(provider.issuer)}`,
      { headers: html },
    );
    assert.equal(codeOf(skipped), "3124", "the answer names another issuer (RFC 9207)");
    assert.ok(!second.calls.some((call) => call.includes("/token")));
  });
});
