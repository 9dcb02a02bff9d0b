/** Logins that agents ask for with their tunnels, by the public SDK's own options. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { issuerTag } from "../../src/identity/realm.ts";
import { codeOf, startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import { startOpenIdProvider } from "../support/openid.ts";
import type { OpenIdProvider } from "../support/openid.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";

describe("an agent's endpoint", { timeout: 120_000 }, () => {
  let world: LoginWorld;
  let sdk: SdkProcess;
  let openid: OpenIdProvider;
  before(async () => {
    world = await startLoginWorld();
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

  it("asks visitors to log in with OAuth, and admits those that the agent names", async () => {
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

  it("asks visitors to log in with the server's own app", async () => {
    const bound = await sdk.ask({ name: "http", domain: "managed.localhost", oauth: ["github"] });
    assert.equal((await world.browser().visit(`${bound.url}/x`)).text, "hello from /x");
  });

  it("asks visitors to log in with an OpenID provider", async () => {
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

  it("an agent's endpoint is not opened with a login that cannot be", async () => {
    for (const oauth of [["nobody"], ["google", [], [], ["extra"]]] as const) {
      await assert.rejects(
        sdk.ask({ name: "http", domain: "no.localhost", oauth: oauth as never }),
        /oauth|scopes|provider/i,
      );
    }
  });
});
