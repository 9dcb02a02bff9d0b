/** Failed logins with faulty providers. Each fault has a separate error code. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { catalogue, errorCode } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import type { Person } from "../support/oauth-providers.ts";

const ada: Person = { id: "4711", name: "Ada", login: "ada", email: "ada@example.com", verified: true };

let world: LoginWorld;
/** A world whose apps belong to a provider that does not answer. */
let away: LoginWorld;
before(async () => {
  const nowhere = { clientId, clientSecret, baseUrl: "http://127.0.0.1:9", graphVersion: "" };
  [world, away] = await Promise.all([startLoginWorld(), startLoginWorld({ oauthApps: { github: nowhere } })]);
  await world.route("/", { oauth: { provider: { github: {} } } });
  await world.route("/email", { oauth: { provider: { github: { email_domains: ["example.com"] } } } });
  await world.route("/team", { oauth: { provider: { github: { organizations: ["acme"] } } } });
  await world.route("/either", {
    oauth: { provider: { github: { organizations: ["acme"], email_domains: ["example.com"] } } },
  });
  await away.route("/", { oauth: { provider: { github: {} } } });
});
after(async () => {
  await world.stop();
  await away.stop();
});

for (const http of ["h1", "h2"] as const) {
  describe(`the code of a login over ${http}`, { timeout: 60_000 }, () => {
    beforeEach(() => {
      Object.assign(world.providers, { person: ada, failure: undefined, declines: undefined, granted: undefined });
    });
    const codeAt = async (path: string): Promise<string> => {
      const { status, headers } = await world.browser(http).visit(world.origin() + path);
      return `${status} ${String(headers["postern-error-code"] ?? "none")}`;
    };
    const expected = (name: RefusalName): string => `${catalogue[name].status} ${errorCode(name)}`;

    it(`the code of a login over ${http} distinguishes a missing scope for the e-mail address from other missing scopes`, async () => {
      world.providers.granted = "read:user";
      assert.equal(await codeAt("/email"), expected("login_email_refused"));
      assert.equal(await codeAt("/team"), expected("login_scope_missing"));
      assert.equal(await codeAt("/"), "200 none");
      world.providers.granted = "read:user user:email";
      assert.equal(await codeAt("/email"), "200 none");
      assert.equal(await codeAt("/either"), "200 none");
    });

    it(`the code of a login over ${http} distinguishes a missing address from one that is not verified or not listed`, async () => {
      world.providers.person = { ...ada, email: "" };
      assert.equal(await codeAt("/email"), expected("login_no_email"));
      world.providers.person = { ...ada, verified: false };
      assert.equal(await codeAt("/email"), expected("login_email_unverified"));
      world.providers.person = { ...ada, email: "ada@example.org" };
      assert.equal(await codeAt("/email"), expected("login_not_listed"));
    });

    it(`the code of a login over ${http} distinguishes a provider that is down, throttles, is busy, fails or revokes the token`, async () => {
      for (const [failure, name] of [
        [{ status: 429 }, "login_throttled"],
        [{ status: 503 }, "login_busy"],
        [{ status: 500 }, "login_provider_down"],
        [{ status: 502 }, "login_provider_down"],
        [{ status: 200, body: '{"error":"temporarily_unavailable"}' }, "login_busy"],
        [{ status: 200, body: '{"error":"server_error"}' }, "login_provider_down"],
        [{ status: 200, body: '{"error":"slow_down"}' }, "login_throttled"],
        [{ status: 200, body: '{"error":"bad_verification_code"}' }, "login_exchange_failed"],
        [{ status: 200, body: '{"error":"incorrect_client_credentials"}' }, "login_client_refused"],
        [{ status: 200, body: '{"error":"redirect_uri_mismatch"}' }, "login_redirect_refused"],
        [{ status: 200, body: '{"error":"invalid_scope"}' }, "login_scope_refused"],
        // A token that the data endpoints do not accept.
        [{ status: 200, body: '{"access_token":"x","token_type":"bearer"}' }, "login_provider_error"],
      ] as const) {
        world.providers.failure = failure;
        assert.equal(await codeAt("/"), expected(name), JSON.stringify(failure));
      }
      world.providers.failure = undefined;
      world.providers.withdraws = true;
      assert.equal(await codeAt("/"), expected("login_withdrawn"));
      world.providers.withdraws = false;
      for (const [error, name] of [
        ["access_denied", "login_declined"],
        ["temporarily_unavailable", "login_busy"],
        ["server_error", "login_provider_down"],
        ["anything_else", "login_provider_error"],
      ] as const) {
        world.providers.declines = error;
        assert.equal(await codeAt("/"), expected(name), error);
      }
    });

    it(`the code of a login over ${http} reports that nothing listens at the provider's address`, async () => {
      const browser = away.browser(http);
      const first = await browser.ask(away.origin(), { headers: { accept: "text/html" } });
      const state = new URL(String(first.headers.location)).searchParams.get("state") ?? "";
      const back = await browser.ask(`${away.origin()}/.postern/callback?code=x&state=${encodeURIComponent(state)}`, {
        headers: { accept: "text/html" },
      });
      assert.equal(back.headers["postern-error-code"], errorCode("login_unreachable"));
    });
  });
}
