/** Pages for visitors who log in: without scripts, readable on a phone, and JSON on request. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import type { Visited } from "../support/browser.ts";
import type { Person } from "../support/oauth-providers.ts";

const ada: Person = { id: "4711", name: "Ada", login: "ada", email: "ada@example.com", verified: true };
const html = { accept: "text/html" };
const json = { accept: "application/json" };

/** Checks that a page runs and fetches nothing, is not cached, is in no frame, and is as wide as a phone. */
function assertPage({ headers, text }: Visited, referrers = "no-referrer"): void {
  assert.equal(headers["content-type"], "text/html; charset=utf-8");
  assert.match(text, /<meta name="viewport" content="width=device-width">/);
  assert.doesNotMatch(text, /<script|<img|<link|\son\w+=|javascript:/i);
  const policy = String(headers["content-security-policy"]);
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /script-src/);
  assert.equal(headers["cache-control"], "no-store");
  assert.equal(headers["referrer-policy"], referrers);
  assert.equal(headers["x-content-type-options"], "nosniff");
}

let world: LoginWorld;
before(async () => {
  world = await startLoginWorld();
  await world.route("/secret-garden/github", { oauth: { provider: { github: {} } } });
  await world.route("/secret-garden/github/team", {
    oauth: { provider: { github: { email_addresses: ["eve@example.com"], email_domains: ["acme.example"] } } },
  });
  await world.route("/pub", {});
});
after(() => world.stop());

for (const http of ["h1", "h2"] as const) {
  describe(`pages of logins over ${http}`, { timeout: 60_000 }, () => {
    beforeEach(() => {
      Object.assign(world.providers, { person: ada, failure: undefined, declines: undefined });
    });
    const at = (path: string): string => world.origin() + path;

    it(`pages of logins over ${http} use a host's only login, and let visitors choose between several, without a route's path`, async () => {
      const one = await world.browser(http).visit(at("/.postern/login"));
      assert.equal(one.url, at("/secret-garden/github"));
      const google = await world.route("/hidden-hall/google", { oauth: { provider: { google: {} } } });
      const browser = world.browser(http);
      for (const path of [
        "/.postern/login",
        "/.postern/login?path=/pub",
        "/ngrok/login",
        "/auth/authn?redirect_path=/",
      ]) {
        const page = await browser.ask(at(path), { headers: html });
        assert.equal(page.status, 200, page.text);
        assertPage(page);
        assert.doesNotMatch(page.text, /secret|hidden/);
        assert.deepEqual(page.text.match(/Log in with \w+/g), ["Log in with GitHub", "Log in with Google"]);
      }
      const told = await browser.ask(at("/.postern/login"), { headers: json });
      assert.doesNotMatch(told.text, /secret|hidden/);
      const { logins } = JSON.parse(told.text) as { logins: { provider: string; login_url: string }[] };
      assert.deepEqual(
        logins.map(({ provider }) => provider),
        ["GitHub", "Google"],
      );
      const arrived = await browser.visit(logins[1]?.login_url ?? "");
      assert.deepEqual([arrived.status, arrived.url], [200, at("/hidden-hall/google")]);
      const gone = await world.platform.api("DELETE", `/edges/https/${world.edgeId}/routes/${google}`);
      assert.equal(gone.status, 204);
    });

    it(`pages of logins over ${http} name the person who is logged in but rejected, offer another account, and hide the lists`, async () => {
      const browser = world.browser(http);
      await browser.visit(at("/secret-garden/github"));
      const page = await browser.ask(at("/secret-garden/github/team"), { headers: html });
      assert.deepEqual([page.status, page.headers["postern-error-code"]], [403, errorCode("login_not_listed")]);
      assertPage(page);
      assert.match(page.text, /You are signed in as ada@example.com with GitHub/);
      assert.match(page.text, /href="\/\.postern\/login\?path=[^"]+&amp;prompt=select_account">Use another account/);
      assert.doesNotMatch(page.text, /eve|acme/);
      const told = await browser.ask(at("/secret-garden/github/team"), { headers: json });
      const { details, error_code } = JSON.parse(told.text) as { details: Record<string, string>; error_code: string };
      assert.deepEqual(
        [told.status, error_code, details["signed_in_as"], details["provider"]],
        [403, errorCode("login_not_listed"), "ada@example.com", "GitHub"],
      );
      assert.doesNotMatch(told.text, /eve|acme/);
      // Markup in a provider's data remains text.
      world.providers.person = { ...ada, email: '"<script>x</script>"@example.com' };
      const other = await world.browser(http).visit(at("/secret-garden/github/team"));
      assert.equal(other.status, 403);
      assertPage(other);
    });

    it(`pages of logins over ${http} report every failed login, as a page or as JSON`, async () => {
      const cases: [string, Visited, Visited][] = [];
      const both = async (name: string, url: string): Promise<void> => {
        const browser = world.browser(http);
        cases.push([name, await browser.ask(url, { headers: html }), await browser.ask(url, { headers: json })]);
      };
      await both("login_state_missing", at("/.postern/callback?code=x"));
      await both("login_state_unreadable", at("/.postern/callback?code=x&state=y"));
      await both("login_state_unreadable", `${world.origin("idp.localhost")}/oauth2/callback?state=y`);
      for (const [name, page, told] of cases) {
        const code = errorCode(name as "login_late");
        assertPage(page);
        assert.deepEqual([page.headers["postern-error-code"], told.headers["postern-error-code"]], [code, code]);
        assert.equal((JSON.parse(told.text) as { error_code: string }).error_code, code);
        assert.match(page.text, new RegExp(`${code}.*request <code>`, "s"));
      }
    });

    it(`pages of logins over ${http} lead back to a lost login, at its host`, async () => {
      const callback = `${world.origin("idp.localhost")}/oauth2/callback`;
      const begun = await world.browser(http).ask(at("/secret-garden/github"), { headers: html });
      const state = new URL(String(begun.headers.location)).searchParams.get("state") ?? "";
      const again = /href="([^"]*\/\.postern\/login\?path=%2F)">Start again</;
      const linkOf = async (url: string, browser = world.browser(http)): Promise<[string, string | undefined]> => {
        const { text, headers } = await browser.ask(url, { headers: html });
        return [String(headers["postern-error-code"]), again.exec(text)?.[1]];
      };
      const own = at("/.postern/callback");
      assert.deepEqual(await linkOf(own), [errorCode("login_state_missing"), "/.postern/login?path=%2F"]);
      assert.deepEqual(await linkOf(`${own}?state=x`), [
        errorCode("login_state_unreadable"),
        "/.postern/login?path=%2F",
      ]);
      assert.deepEqual(await linkOf(`${own}?state=${state}`), [errorCode("login_no_flow"), "/.postern/login?path=%2F"]);
      // Without a valid state there is no host. Nothing from a stranger becomes a link.
      assert.deepEqual(await linkOf(`${callback}?state=x`), [errorCode("login_state_unreadable"), undefined]);
      const elsewhere = `${callback}/abcdefgh?state=${state}`;
      assert.deepEqual(await linkOf(elsewhere), [errorCode("login_elsewhere"), `${at("/.postern/login")}?path=%2F`]);
      const arrived = await world.browser(http).visit(`${at("/.postern/login")}?path=%2F`);
      assert.deepEqual([arrived.status, arrived.url], [200, at("/secret-garden/github")]);
    });

    it(`pages of logins over ${http} log out only after a navigation from the host itself or without an origin`, async () => {
      for (const [method, fields, status] of [
        ["GET", { "sec-fetch-site": "none" }, 401],
        ["GET", { "sec-fetch-site": "same-origin" }, 401],
        ["GET", { "sec-fetch-site": "same-site" }, 200],
        ["GET", { "sec-fetch-site": "cross-site" }, 200],
        ["GET", {}, 200],
        ["POST", { origin: world.origin() }, 401],
        ["POST", { origin: "null", "sec-fetch-site": "same-origin" }, 401],
        ["POST", { origin: "null", "sec-fetch-site": "same-site" }, 200],
        ["POST", { origin: world.origin("other.localhost"), "sec-fetch-site": "same-site" }, 200],
        ["POST", { origin: "null" }, 200],
        ["POST", {}, 200],
      ] as const) {
        const browser = world.browser(http);
        await browser.visit(at("/secret-garden/github"));
        const headers = { ...html, "sec-fetch-mode": "navigate", ...fields };
        await browser.ask(at("/.postern/logout"), { method, headers, ...(method === "POST" && { body: "" }) });
        assert.equal(
          (await browser.ask(at("/.postern/session"))).status,
          status,
          `${method} ${JSON.stringify(fields)}`,
        );
      }
    });

    it(`pages of logins over ${http} log out no one without a confirmation, and answer programs in JSON`, async () => {
      const browser = world.browser(http);
      await browser.visit(at("/secret-garden/github"));
      const asked = await browser.ask(at("/.postern/logout"), { headers: html });
      // Without its origin, the form would look like one of another site.
      assertPage(asked, "same-origin");
      assert.match(asked.text, /<form method="post" action="\/\.postern\/logout/);
      const refused = await browser.ask(at("/.postern/logout"), { headers: json });
      assert.deepEqual([refused.status, (JSON.parse(refused.text) as { signed_in: boolean }).signed_in], [403, true]);
      assert.equal((await browser.ask(at("/.postern/session"))).status, 200);
      const headers = { ...json, origin: world.origin() };
      const done = await browser.ask(at("/.postern/logout"), { method: "POST", body: "", headers });
      assert.deepEqual([done.status, JSON.parse(done.text)], [200, { signed_in: false }]);
      assert.equal((await browser.ask(at("/.postern/session"))).status, 401);
      await browser.visit(at("/secret-garden/github"));
      const page = await browser.ask(`${at("/.postern/logout")}?path=/pub`, {
        method: "POST",
        body: "",
        headers: { ...html, origin: world.origin() },
      });
      assertPage(page);
      assert.match(page.text, /You are logged out.*href="\/pub">Log in again/s);
    });
  });
}
