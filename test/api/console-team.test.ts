/** Getting in to the console by the team's identity provider. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { consoleAccess } from "../../src/settings/kinds/console-access.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import type { MovableClock } from "../support/clock.ts";
import { openBrowser } from "../support/browser.ts";
import type { Browser, Visited } from "../support/browser.ts";
import { freePort } from "../support/connections.ts";
import { startOpenIdProvider } from "../support/openid.ts";
import type { OpenIdProvider } from "../support/openid.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import { authorizationUrl, redirectUri } from "../support/oauth-client.ts";
import type { ServerMetadata } from "../support/oauth-client.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];

describe("the console by the team's identity provider", () => {
  let api: TestApi;
  let provider: OpenIdProvider;
  let database: Awaited<ReturnType<typeof sqlite.create>>;
  let port: number;
  let base: string;
  /** Clock of the running server. The provider uses real time. */
  let clock: MovableClock;

  /** Starts a server with these rules on the existing data. */
  const serve = async (given: string | readonly string[], issuer = provider.issuer): Promise<void> => {
    const rules = [given].flat();
    await api?.stop();
    clock = movableClock();
    api = await startApi(sqlite, {
      databaseUrl: database.url,
      clock,
      apiListen: { host: "127.0.0.1", port },
      consoleOidcIssuer: issuer,
      consoleOidcClientId: "console",
      consoleOidcClientSecret: "a-secret-of-tests",
      consoleAccess: rules.map((rule) => consoleAccess.parse(rule)),
    });
  };
  before(async () => {
    database = await sqlite.create();
    port = await freePort();
    base = `http://127.0.0.1:${port}`;
    provider = await startOpenIdProvider(() => ({
      clientId: "console",
      clientSecret: "a-secret-of-tests",
      redirectUris: [`${base}/console/callback`],
    }));
    provider.people.set("eve", { email: "eve@example.com", email_verified: false, name: "Eve" });
    provider.people.set("mal", { email: "mal@example.com.evil.test", email_verified: true, name: "Mal" });
    provider.people.set("pal", { email: "pal@notexample.com", email_verified: true, name: "Pal" });
    await serve("ada@example.com=admin");
  });
  after(async () => {
    await api.stop();
    await provider.stop();
    await database.drop();
  });

  const logIn = async (name: string, browser = openBrowser({ ca: "" })): Promise<[Browser, Visited]> => {
    const page = await browser.visit(`${base}/console/login`);
    return [browser, await provider.signIn(browser, page, name)];
  };
  /** Stores the cookie that an answer sets. */
  const take = (browser: Browser, headers: Readonly<Record<string, unknown>>): void => {
    const [name = "", value = ""] = String(headers["set-cookie"]).split(";", 1)[0]?.split("=") ?? [];
    browser.setCookie(base, name, value);
  };
  const refusedWith = ({ url }: Visited): string => new URL(url).hash.replace("#refused=", "");
  /** Sends a request as the page does: with the cookie and, for a change, with the page's token. */
  const ask = async (browser: Browser, method: string, path: string, body?: object) => {
    const cookie = browser.cookies(base);
    const headers = { cookie, authorization: undefined, "sec-fetch-site": "same-origin", origin: base };
    const { body: session } = await api.request("GET", "/console/session", { headers });
    return await api.request(method, path, {
      headers: { ...headers, "postern-console-token": session.page_token },
      ...(body && { body }),
    });
  };

  it("P12: the console with the team's identity provider admits people whom a rule names, with a role and without a key", async () => {
    const [browser, arrived] = await logIn("ada");
    assert.equal(new URL(arrived.url).pathname + new URL(arrived.url).hash, "/", arrived.url);
    const { body } = await ask(browser, "GET", "/console/session");
    assert.deepEqual(body.person, { email: "ada@example.com", name: "Ada Lovelace", role: "admin" });
    assert.equal(body.api_key.operator, false);
    const made = await ask(browser, "POST", "/ip_policies", { description: "by ada" });
    assert.equal(made.status, 201, made.text);
    const { revisions } = await api.ok("GET", "/revisions?operation=createIPPolicy&limit=1");
    assert.equal(revisions[0].principal, "person ada@example.com");
    const { console_sessions: sessions } = await api.ok("GET", "/console_sessions");
    assert.deepEqual([sessions[0].person, sessions[0].api_key], ["person ada@example.com", null]);
    assert.ok(!JSON.stringify(sessions).includes("memberships"));
    assert.equal((await ask(browser, "POST", "/console_links")).body.error_code, errorCode("console_link_keyless"));
  });

  it("I5: the console with the team's identity provider admits no one by an unverified address, or by part of a domain", async () => {
    await serve("@example.com=viewer");
    for (const name of ["eve", "mal", "pal"]) {
      const [browser, arrived] = await logIn(name);
      assert.equal(refusedWith(arrived), "console_person_refused");
      assert.equal((await ask(browser, "GET", "/ip_policies")).status, 401);
    }
    const [, arrived] = await logIn("ada");
    assert.equal(refusedWith(arrived), "");
  });

  it("P13: the console with the team's identity provider takes invitations only from the invited address, once, and ends with the person", async () => {
    await serve([]);
    const begin = async (code: string): Promise<[Browser, string]> => {
      const browser = openBrowser({ ca: "" });
      const headers = { authorization: undefined, origin: base };
      const answer = await api.request("POST", "/console/invitation/login", { headers, body: { code } });
      assert.equal(answer.status, 200, answer.text);
      take(browser, answer.headers);
      return [browser, answer.body.location];
    };
    const enter = async (name: string, code: string): Promise<[Browser, Visited]> => {
      const [browser, location] = await begin(code);
      return [browser, await provider.signIn(browser, await browser.visit(location), name)];
    };
    const invite = async (email: string): Promise<string> => {
      const { url } = await api.ok("POST", "/person_invitations", { email, role: "operator" });
      assert.ok(url.startsWith(`${base}/#invite=`));
      return new URL(url).hash.replace("#invite=", "");
    };
    const code = await invite("ada@example.com");
    const headers = { authorization: undefined, origin: base };
    const seen = await api.request("POST", "/console/invitation", { headers, body: { code } });
    assert.deepEqual([seen.body.login_title, seen.body.options], [new URL(provider.issuer).host, undefined]);
    const passkey = await api.request("POST", "/console/passkey/options", { headers, body: {} });
    assert.equal(passkey.body.error_code, errorCode("passkey_refused"));
    assert.equal(refusedWith((await enter("pal", code))[1]), "console_person_refused");
    assert.equal(refusedWith((await enter("eve", await invite("eve@example.com")))[1]), "console_person_refused");
    const [late, lateAt] = await begin(code);
    const [browser, arrived] = await enter("ada", code);
    assert.equal(refusedWith(arrived), "");
    const { body } = await ask(browser, "GET", "/console/session");
    assert.deepEqual([body.person.role, body.api_key.operator], ["operator", true]);
    const repeated = await provider.signIn(late, await late.visit(lateAt), "ada");
    assert.equal(refusedWith(repeated), "person_invitation_spent");
    assert.equal(refusedWith((await logIn("ada"))[1]), "", "the next login needs no link");
    const { people } = await api.ok("GET", "/people");
    await api.ok("DELETE", `/people/${people[0].id}`);
    assert.equal((await ask(browser, "GET", "/ip_policies")).status, 401);
    assert.equal(refusedWith((await logIn("ada"))[1]), "console_person_refused");
  });

  it("P12: a console role with the team's identity provider follows the rules at each request, and ends with them", async () => {
    await serve(["ada@example.com=viewer", "@example.com=editor"]);
    const [browser] = await logIn("ada");
    const write = async (): Promise<number> => (await ask(browser, "POST", "/ip_policies", {})).status;
    assert.equal(await write(), 201, "the most that any rule says counts");
    const vault = await api.ok("POST", "/vaults", { name: `v${Date.now()}` });
    await api.ok("POST", "/vault_secrets", { vault_id: vault.id, name: "s", value: "hidden" });
    await serve("ada@example.com=viewer");
    assert.equal(await write(), 403);
    assert.equal((await ask(browser, "GET", "/ip_policies")).status, 200);
    await serve("somebody@example.com=admin");
    assert.equal((await ask(browser, "GET", "/ip_policies")).status, 401);
    await serve("ada@example.com=viewer");
    assert.equal((await ask(browser, "GET", "/ip_policies")).status, 200);
    const { console_sessions: sessions } = await api.ok("GET", "/console_sessions?limit=1");
    await api.ok("DELETE", `/console_sessions/${sessions[0].id}`);
    assert.equal((await ask(browser, "GET", "/ip_policies")).status, 401);
  });

  it("P12: a log-in at the console by the team's identity provider is finished by the browser that began it, once, with its own state", async () => {
    await serve("ada@example.com=admin");
    const back: string[] = [];
    const stop = (url: string): boolean => url.startsWith(`${base}/console/callback`) && back.push(url) > 0;
    const mine = openBrowser({ ca: "" });
    let at = await mine.visit(`${base}/console/login`);
    for (const body of ["prompt=login&login=ada&password=x", "prompt=consent"]) {
      at = await mine.visit(at.url, { method: "POST", body, stop });
    }
    const callback = back[0] as string;
    const asked = (): number => provider.calls.filter((one) => one === "POST /token").length;
    const before = asked();
    const other = openBrowser({ ca: "" });
    assert.equal(refusedWith(await other.visit(callback)), "console_login_failed", "no cookie");
    assert.equal(refusedWith(await other.visit(`${base}/console/callback?code=x`)), "console_login_failed", "no state");
    await other.visit(`${base}/console/login`);
    assert.equal(refusedWith(await other.visit(callback)), "console_login_failed", "another state");
    const elsewhere = new URL(callback);
    elsewhere.searchParams.set("iss", "https://other.example");
    const flow = mine.cookies(base);
    const mixed = await api.request("GET", elsewhere.pathname + elsewhere.search, {
      headers: { authorization: undefined, cookie: flow },
    });
    assert.match(String(mixed.headers.location), /refused=/);
    const nameless = new URL(callback);
    nameless.searchParams.delete("iss");
    const unnamed = await api.request("GET", nameless.pathname + nameless.search, {
      headers: { authorization: undefined, cookie: flow },
    });
    assert.match(String(unnamed.headers.location), /refused=/, "the issuer says that it names itself");
    assert.equal(asked(), before, "the provider is asked about none of these");
    assert.equal(refusedWith(await mine.visit(callback)), "");
    const again = await api.request("GET", new URL(callback).pathname + new URL(callback).search, {
      headers: { authorization: undefined, cookie: flow },
    });
    assert.match(String(again.headers.location), /refused=/, "a code is good once");
  });

  it("P12: each console login with the team's identity provider has its own state, nonce and verifier, which only its browser has", async () => {
    const begin = async (): Promise<readonly string[]> => {
      const { headers } = await api.request("GET", "/console/login", { headers: { authorization: undefined } });
      const asked = new URL(String(headers.location)).searchParams;
      const [pair = "", ...attributes] = String(headers["set-cookie"]).split("; ");
      assert.deepEqual(attributes, ["Path=/", "Max-Age=600", "HttpOnly", "SameSite=Lax"]);
      const kept = pair.slice(pair.indexOf("=") + 1).split(".");
      assert.deepEqual(kept.slice(0, 2), [asked.get("state"), asked.get("nonce")]);
      assert.equal(asked.get("code_challenge_method"), "S256");
      return [...kept, asked.get("code_challenge") ?? ""];
    };
    const [one, other] = [await begin(), await begin()];
    assert.ok(one.length === 4 && one.every((value, at) => value.length >= 40 && value !== other[at]));
    const browser = openBrowser({ ca: "" });
    await browser.visit(`${base}/console/login`);
    const [state] = /_login=(\w+)\./.exec(browser.cookies(base))?.slice(1) ?? [];
    const before = provider.calls.length;
    const iss = encodeURIComponent(provider.issuer);
    const back = await browser.visit(`${base}/console/callback?error=access_denied&state=${state}&iss=${iss}`);
    assert.equal(refusedWith(back), "console_login_failed");
    assert.equal(provider.calls.length, before, "nothing is left to ask it");
    assert.ok(!browser.cookies(base).includes("_login="), "the flow is over");
  });

  it("P12: a group of the team's identity provider admits its members, unless an account refuses their address", async () => {
    const issuer = await startOwnIssuer();
    const come = async (...groups: readonly string[]): Promise<string> => {
      issuer.forge = (claims) => issuer.sign({ ...claims, email: "x", email_verified: false, name: "X", groups });
      return refusedWith(await openBrowser({ ca: "" }).visit(`${base}/console/login`));
    };
    try {
      const { id, api_key: key } = await api.ok("POST", "/accounts", { name: "restricted" });
      await serve("group:platform=viewer@ac_0000000000000000000000000", issuer.url);
      assert.equal(await come("platform"), "console_person_refused", "there is no such account");
      await serve(`group:platform=viewer@${id}`, issuer.url);
      assert.equal(await come("platform-others", "plat"), "console_person_refused");
      assert.equal(await come("others", "platform"), "");
      const policy = await api.ok("POST", "/ip_policies", {}, key);
      const rule = { ip_policy_id: policy.id, cidr: "127.0.0.0/8", action: "allow" };
      const { id: ruleId } = await api.ok("POST", "/ip_policy_rules", rule, key);
      await api.ok("POST", "/ip_restrictions", { type: "api", enforced: true, ip_policy_ids: [policy.id] }, key);
      assert.equal(await come("platform"), "");
      await api.ok("DELETE", `/ip_policy_rules/${ruleId}`, undefined, key);
      assert.equal(await come("platform"), "api_source_denied");
    } finally {
      await issuer.stop();
      await serve("ada@example.com=admin");
    }
  });

  it("P12: the console with the team's identity provider issues a new session cookie, whatever the browser sent", async () => {
    await serve("ada@example.com=admin");
    const browser = openBrowser({ ca: "" });
    const name = `postern_console_${port}`;
    browser.setCookie(base, name, "x".repeat(50));
    await logIn("ada", browser);
    const cookie = new RegExp(`${name}=([^;]+)`).exec(browser.cookies(base))?.[1] ?? "";
    assert.match(cookie, /^[0-9a-z]{50}$/);
    assert.notEqual(cookie, "x".repeat(50));
  });

  it("P12: the console asks the team's identity provider every ten minutes, and applies its rules to the answer", async () => {
    await serve(["ada@example.com=admin", "@elsewhere.example=viewer"]);
    const [browser] = await logIn("ada");
    const reads = async (): Promise<number> => (await ask(browser, "GET", "/ip_policies")).status;
    const writes = async (): Promise<number> => (await ask(browser, "POST", "/ip_policies", {})).status;
    const ada = provider.people.get("ada") ?? {};
    const { revision: before } = (await api.ok("GET", "/revisions?limit=1")).revisions[0];
    try {
      provider.people.set("ada", { ...ada, email: "ada@elsewhere.example" });
      clock.move(10 * 60_000 - 1_000);
      assert.deepEqual([await writes(), await reads()], [201, 200], "what it said is fresh enough");
      clock.move(1_000);
      assert.deepEqual([await writes(), await reads()], [403, 200]);
      provider.people.set("ada", { ...ada, email_verified: false });
      clock.move(10 * 60_000);
      assert.equal(await reads(), 401);
      provider.people.set("ada", ada);
      clock.move(10 * 60_000);
      assert.equal(await writes(), 201);
    } finally {
      provider.people.set("ada", ada);
    }
    const { revision: after } = (await api.ok("GET", "/revisions?limit=1")).revisions[0];
    assert.equal(after, before + 2, "what it says is in no history");
  });

  it("P12: a person about whom the team's identity provider gives no answer loses console access after an hour, in every account", async () => {
    const other = await api.ok("POST", "/accounts", { name: "other" });
    await serve(["ada@example.com=admin", `ada@example.com=viewer@${other.id}`]);
    const [browser] = await logIn("ada");
    const reads = async (): Promise<number> => (await ask(browser, "GET", "/ip_policies")).status;
    const ada = provider.people.get("ada") ?? {};
    try {
      provider.people.delete("ada");
      clock.move(40 * 60_000);
      assert.equal(await reads(), 200);
      const moved = await ask(browser, "POST", "/console/session", { account_id: other.id });
      assert.equal(moved.status, 200, moved.text);
      take(browser, moved.headers);
      assert.equal(await reads(), 200);
      clock.move(20 * 60_000);
      assert.equal(await reads(), 401);
    } finally {
      provider.people.set("ada", ada);
    }
  });

  it("P12: somebody at the console who belongs to several accounts chooses one, has the role of each there, and gets into no other", async () => {
    const [one, stranger] = [
      await api.ok("POST", "/accounts", { name: "one" }),
      await api.ok("POST", "/accounts", { name: "stranger" }),
    ];
    await serve(["ada@example.com=admin", `@example.com=viewer@${one.id}`]);
    const [browser] = await logIn("ada");
    const session = async () => (await ask(browser, "GET", "/console/session")).body;
    const before = await session();
    assert.deepEqual(
      before.accounts.map(({ id }: { id: string }) => id),
      [before.account_id, one.id],
    );
    const old = browser.cookies(base);
    const go = (id: string, how: object = {}) => ask(browser, "POST", "/console/session", { account_id: id, ...how });
    assert.equal((await go(stranger.id)).body.error_code, errorCode("console_person_refused"));
    const untold = await api.request("POST", "/console/session", {
      headers: { cookie: old, authorization: undefined, origin: base },
      body: { account_id: one.id },
    });
    assert.equal(untold.body.error_code, errorCode("console_origin_refused"), "without the page's token");
    clock.move(60_000);
    take(browser, (await go(one.id)).headers);
    const { account_id: now, person, expires_at: end } = await session();
    assert.deepEqual([now, person.role], [one.id, "viewer"]);
    assert.equal(end, before.expires_at, "nobody stays for longer by going to and fro");
    assert.equal((await ask(browser, "POST", "/ip_policies", {})).status, 403);
    const ended = await api.request("GET", "/ip_policies", { headers: { cookie: old, authorization: undefined } });
    assert.equal(ended.status, 401, "the one before has ended");
    // Who came with a key stays where it is.
    const keyed = openBrowser({ ca: "" });
    const made = await api.request("POST", "/console/session", {
      headers: { authorization: undefined, origin: base },
      body: { api_key: api.apiKey },
    });
    take(keyed, made.headers);
    const refused = await ask(keyed, "POST", "/console/session", { account_id: one.id });
    assert.equal(refused.body.error_code, errorCode("console_person_refused"));
  });

  it("P12: somebody at the console goes to no account that does not admit their address, and stays where they were", async () => {
    const { id, api_key: key } = await api.ok("POST", "/accounts", { name: "elsewhere" });
    await serve(["ada@example.com=admin", `ada@example.com=viewer@${id}`]);
    const policy = await api.ok("POST", "/ip_policies", {}, key);
    const rule = { ip_policy_id: policy.id, cidr: "127.0.0.0/8", action: "allow" };
    const { id: ruleId } = await api.ok("POST", "/ip_policy_rules", rule, key);
    await api.ok("POST", "/ip_restrictions", { type: "api", enforced: true, ip_policy_ids: [policy.id] }, key);
    await api.ok("DELETE", `/ip_policy_rules/${ruleId}`, undefined, key);
    const [browser] = await logIn("ada");
    const { account_id: before } = (await ask(browser, "GET", "/console/session")).body;
    const { console_sessions: there } = await api.ok("GET", "/console_sessions");
    const refused = await ask(browser, "POST", "/console/session", { account_id: id });
    assert.equal(refused.body.error_code, errorCode("api_source_denied"));
    assert.equal((await ask(browser, "GET", "/console/session")).body.account_id, before);
    const { console_sessions: left } = await api.ok("GET", "/console_sessions");
    assert.deepEqual(left, there);
  });

  it("P12: a person has at most 100 console sessions in an account, and a new one replaces the one that would end first", async () => {
    const issuer = await startOwnIssuer();
    try {
      await serve("@example.com=viewer", issuer.url);
      const come = async (subject: string): Promise<Browser> => {
        issuer.subject = subject;
        issuer.forge = (claims) => issuer.sign({ ...claims, name: subject, groups: [] });
        const browser = openBrowser({ ca: "" });
        assert.equal(refusedWith(await browser.visit(`${base}/console/login`)), "");
        return browser;
      };
      const status = async (browser: Browser): Promise<number> => (await ask(browser, "GET", "/ip_policies")).status;
      const other = await come("bob");
      clock.move(1_000);
      const first = await come("cat");
      clock.move(1_000);
      const second = await come("cat");
      for (let count = 2; count < 100; count += 1) await come("cat");
      assert.deepEqual([await status(first), await status(second)], [200, 200]);
      await come("cat");
      assert.deepEqual([await status(first), await status(second), await status(other)], [401, 200, 200]);
    } finally {
      await issuer.stop();
      await serve("ada@example.com=admin");
    }
  });

  it("P12: a logout from the team's identity provider ends exactly the console sessions that it names, once", async () => {
    const issuer = await startOwnIssuer();
    try {
      await serve(["ada@example.com=admin", "bob@example.com=viewer"], issuer.url);
      const come = async (subject: string, session: string): Promise<Browser> => {
        Object.assign(issuer, { subject, session });
        issuer.forge = (claims) =>
          issuer.sign({ ...claims, email: `${subject}@example.com`, email_verified: true, name: subject, groups: [] });
        const browser = openBrowser({ ca: "" });
        assert.equal(refusedWith(await browser.visit(`${base}/console/login`)), "");
        return browser;
      };
      const all = [
        await come("ada", "one"),
        await come("ada", "two"),
        await come("ada", "two"),
        await come("bob", "three"),
      ];
      const statuses = async (): Promise<readonly number[]> =>
        await Promise.all(all.map(async (browser) => (await ask(browser, "GET", "/ip_policies")).status));
      const tell = async (body: string): Promise<number> => {
        const headers = { authorization: undefined, "content-type": "application/x-www-form-urlencoded" };
        return (await api.request("POST", "/console/backchannel-logout", { headers, body })).status;
      };
      const token = (claims: object, by = issuer.key): string => {
        const now = Math.floor(Date.now() / 1_000);
        const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
        return issuer.sign({ iss: issuer.url, aud: "console", iat: now, exp: now + 120, events, ...claims }, {}, by);
      };
      const wrong = [
        "",
        "logout_token=x",
        `logout_token=${token({ jti: "0", sub: "ada" }, issuer.other)}`,
        `logout_token=${token({ jti: "0", sub: "ada", aud: "another" })}`,
        `logout_token=${token({ jti: "0", sub: "ada", events: {} })}`,
        `logout_token=${token({ jti: "0", sub: "ada" })}&logout_token=${token({ jti: "1", sub: "ada" })}`,
      ];
      for (const body of wrong) assert.equal(await tell(body), 400, body);
      assert.deepEqual(await statuses(), [200, 200, 200, 200]);
      assert.equal(await tell(`logout_token=${token({ jti: "1", sub: "bob", sid: "two" })}`), 200);
      assert.deepEqual(await statuses(), [200, 200, 200, 200], "it is a session of somebody else");
      const once = `logout_token=${token({ jti: "2", sid: "two" })}`;
      assert.equal(await tell(once), 200);
      assert.deepEqual(await statuses(), [200, 401, 401, 200]);
      all[1] = await come("ada", "two");
      assert.equal(await tell(once), 400);
      assert.deepEqual(await statuses(), [200, 200, 401, 200], "what was told once ends nothing that came later");
      assert.equal(await tell(`logout_token=${token({ jti: "3", sub: "ada" })}`), 200);
      assert.deepEqual(await statuses(), [401, 401, 401, 200]);
      let status = 0;
      for (let attempt = 0; attempt < 300 && status !== 429; attempt += 1) status = await tell("logout_token=x");
      assert.equal(status, 429, "whoever tries is counted");
      assert.equal(await tell(`logout_token=${token({ jti: "4", sub: "bob" })}`), 200, "and the provider is heard");
    } finally {
      await issuer.stop();
      await serve("ada@example.com=admin");
    }
  });

  it("the console names its identity provider on the login page, and has no such login without one", async () => {
    const { body } = await api.request("GET", "/console/session", { headers: { authorization: undefined } });
    assert.deepEqual(
      [body.details.login_title, body.details.login_url],
      [new URL(provider.issuer).host, "/console/login"],
    );
    const plain = await startApi(sqlite);
    try {
      const headers = { authorization: undefined };
      assert.equal((await plain.request("GET", "/console/login", { headers })).status, 404);
      const session = await plain.request("GET", "/console/session", { headers });
      assert.equal("login_url" in session.body.details, false);
    } finally {
      await plain.stop();
    }
  });

  it("rules of who may use the console are refused where they say nothing", () => {
    for (const wrong of ["ada@example.com", "ada@example.com=owner", "=admin", "group:=admin", "ada=admin"]) {
      assert.throws(() => consoleAccess.parse(wrong), /must/, wrong);
    }
    assert.deepEqual(consoleAccess.parse("group:a=b=editor@ac_0x"), {
      by: "group",
      value: "a=b",
      role: "editor",
      accountId: "ac_0x",
    });
  });

  it("M6: an application gets a login of its own at the team's identity provider, and only that of the person who confirmed", async () => {
    await serve(["ada@example.com=editor", "bob@example.com=editor"]);
    provider.people.set("bob", { email: "bob@example.com", email_verified: true, name: "Bob" });
    const server = (await api.request("GET", "/.well-known/oauth-authorization-server")).body as ServerMetadata;
    const registration = { client_name: "Tester", redirect_uris: [redirectUri] };
    const { body: client } = await api.request("POST", "/oauth/register", { body: registration });
    const resource = `${base}/mcp`;
    const begun = authorizationUrl({ server, clientId: client.client_id, resource });
    /** Confirms as Ada, and logs in at the provider as the person with this name. */
    const confirm = async (name: string) => {
      const [browser] = await logIn("ada");
      const page = await browser.visit(begun.url);
      const request = new URL(page.url).hash.replace("#authorize=", "");
      const decided = await ask(browser, "POST", "/console/application", {
        request,
        decision: "allow",
        scopes: ["read"],
      });
      assert.equal(decided.status, 200, decided.text);
      take(browser, decided.headers);
      const fresh = openBrowser({ ca: "" });
      take(fresh, decided.headers);
      const login = await fresh.visit(decided.body.location);
      return await provider.signIn(fresh, login, name, (next) => next.startsWith(redirectUri));
    };
    assert.equal(refusedWith(await confirm("bob")), "console_person_refused");
    const back = await confirm("ada");
    const code = new URL(String(back.headers.location)).searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", code, code_verifier: begun.verifier, resource };
    const { body: tokens } = await api.request("POST", "/oauth/token", {
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ ...form, client_id: client.client_id, redirect_uri: redirectUri }).toString(),
    });
    const ping = async () =>
      (await api.request("POST", "/mcp", { key: tokens.access_token, body: { jsonrpc: "2.0", id: 1, method: "ping" } }))
        .status;
    assert.equal(await ping(), 200);
    const { console_sessions: sessions } = await api.ok("GET", "/console_sessions");
    assert.deepEqual([sessions[0].client, sessions[0].person], ["Tester", "person ada@example.com"]);
    await serve("bob@example.com=editor");
    assert.equal(await ping(), 401, "no rule admits the person");
  });
});
