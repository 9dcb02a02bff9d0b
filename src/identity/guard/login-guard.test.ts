import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { exchangeOf } from "../../../test/support/exchange.ts";
import type { ExchangeInit } from "../../../test/support/exchange.ts";
import { ada, guarded, realm } from "../../../test/support/guarded.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { Step } from "../../traffic/step.ts";
import { LoginRefusal } from "../calls/identity.ts";

describe("I2: a session", () => {
  it("ends after its route's inactivity timeout, and not before", async () => {
    const { clock, status } = guarded({ inactivity_timeout: 60 });
    for (let count = 0; count < 3; count += 1) {
      clock.pass(59_000);
      assert.equal(await status(), 200);
    }
    clock.pass(60_000);
    assert.equal(await status(), 302);
  });

  it("I2: a session is inactive only if no edge has seen a use of it", async () => {
    const { clock, status, tellOfUse } = guarded({ inactivity_timeout: 60 });
    clock.pass(59_000);
    tellOfUse();
    clock.pass(59_000);
    assert.equal(await status(), 200);
  });

  it("S7: ends with the provider's session, even if the wall clock is set back", async () => {
    const { clock, status } = guarded({}, { endsAt: Date.now() + 7_205_000 });
    clock.step(-3_600_000);
    clock.pass(7_200_000);
    assert.equal(await status(), 200);
    clock.pass(10_000);
    const asked = status();
    // The control plane, which is asked about unknown sessions, does not answer.
    clock.pass(100);
    assert.equal(await asked, 302);
  });

  it("S7: ends after its lifetime even if the wall clock is set back or ahead", async () => {
    for (const step of [-3_600_000, 3_600_000]) {
      const { clock, status } = guarded({ maximum_duration: 7_200 });
      clock.step(step);
      assert.equal(await status(), 200);
      clock.pass(7_200_000);
      assert.equal(await status(), 302);
    }
    const idle = guarded({ inactivity_timeout: 60 });
    idle.clock.pass(61_000);
    idle.clock.step(-3_600_000);
    assert.equal(await idle.status(), 302);
  });

  it("S7: a session that was unused for a month of wall-clock time is invalid, even if the process was suspended", async () => {
    const { clock, status } = guarded({});
    clock.step(30 * 86_400_000 - 1_000);
    assert.equal(await status(), 200);
    clock.step(30 * 86_400_000);
    assert.equal(await status(), 302);
  });

  it("I2: a session is evaluated again when the configuration changes", async () => {
    const { status, set } = guarded({});
    assert.equal(await status(), 200);
    set({ email_addresses: ["grace@example.com"] });
    assert.equal(await status(), 403);
    set({ email_addresses: ["ada@example.com"] });
    assert.equal(await status(), 200);
  });

  it("I2: a session is invalid at another host or realm, and for another account, client or provider", async () => {
    assert.equal(await guarded({}, {}).status(), 200);
    for (const change of [
      { host: "other.example.com" },
      { realm: "aaaaaaaa" },
      { accountId: "ac_2" },
      { clientId: "d" },
      { providerUrl: "https://gitlab.com" },
    ]) {
      assert.equal(await guarded({}, change).status(), 302, JSON.stringify(change));
    }
  });

  it("I2: a session ends with the provider's session, and when it is ended explicitly", async () => {
    const { clock, status } = guarded({}, { endsAt: makeManualClock().now() + 60_000 });
    // Only the wall clock advances: the periodic cleanup has not run.
    clock.step(59_000);
    assert.equal(await status(), 200);
    clock.step(60_000);
    assert.equal(await status(), 302);
    const other = guarded({});
    assert.equal(await other.status(), 200);
    const session = other.logins.context.sessions.byId("appses_1");
    assert.ok(session);
    session.ended = true;
    assert.equal(await other.status(), 302);
  });

  it("I2: a session that was ended here stays ended, even if the control plane does not know yet", async () => {
    const { ask, logins } = guarded({});
    const { sessions, reports, end } = logins.context;
    const session = sessions.byId("appses_1");
    assert.ok(session);
    end(session, "logged_out");
    const asked = ask();
    // Answers the first question only.
    reports.found(1, session.record);
    assert.equal((await asked).reason.split(":")[0], "the session is unknown here");
    assert.equal(sessions.size, 0);
    // For any other session the control plane is believed.
    const told = ask();
    reports.found(2, { ...session.record, id: "appses_2" });
    assert.equal((await told).answer, undefined);
  });

  it("I2: a session is insufficient for a route that requires more scopes", async () => {
    const { status } = guarded({ teams: ["acme/eng"] }, { scopes: ["read:user", "user:email"] });
    assert.equal(await status(), 302);
  });
});

describe("a check with the provider", () => {
  it("a check with the provider is shared by all waiting requests, and refuses former members", async () => {
    let checks = 0;
    const renew = async () => {
      checks += 1;
      return { identity: ada, tokens: { access: "a", refresh: "r2", id: "" } };
    };
    const { clock, status } = guarded(
      { teams: ["acme/eng"], auth_check_interval: 60, renew },
      { identity: { ...ada, memberships: ["acme/eng"] } },
    );
    assert.equal(await status(), 200);
    assert.equal(checks, 0);
    clock.pass(61_000);
    assert.deepEqual([...new Set(await Promise.all(Array.from({ length: 30 }, status)))], [403]);
    assert.equal(checks, 1);
  });

  it("a check with the provider admits no session that ended during the check", async () => {
    const asked = Promise.withResolvers<void>();
    const renew = async () => {
      await asked.promise;
      return { identity: ada, tokens: { access: "a", refresh: "r", id: "" } };
    };
    const { clock, status, logins } = guarded({ auth_check_interval: 60, renew });
    clock.pass(61_000);
    const waiting = status();
    const session = logins.context.sessions.byId("appses_1");
    assert.ok(session);
    logins.context.end(session, "logged_out");
    asked.resolve();
    assert.equal(await waiting, 302);
  });

  it("a check with the provider admits no session that ended while the check failed", async () => {
    const asked = Promise.withResolvers<never>();
    const { clock, status, logins } = guarded({ auth_check_interval: 60, renew: () => asked.promise });
    clock.pass(61_000);
    const waiting = status();
    const session = logins.context.sessions.byId("appses_1");
    assert.ok(session);
    logins.context.end(session, "logged_out");
    asked.reject(new LoginRefusal("login_unreachable", "away"));
    assert.equal(await waiting, 302);
  });

  it("I2: a check with the provider keeps whose session and log-in it is, where the answer does not say", async () => {
    const login = { providerSession: "s1", authenticatedAt: 7 };
    for (const [told, expected] of [
      [{}, login],
      [{ providerSession: "s2" }, login],
      [{ authenticatedAt: 8 }, { ...login, authenticatedAt: 8 }],
    ] as const) {
      const renew = async () => ({ identity: { ...ada, ...told }, tokens: { access: "a", refresh: "r", id: "" } });
      const { clock, status, logins } = guarded({ auth_check_interval: 60, renew }, { identity: { ...ada, ...login } });
      clock.pass(60_000);
      assert.equal(await status(), 200);
      const { providerSession, authenticatedAt } = logins.context.sessions.byId("appses_1")?.record.identity ?? ada;
      assert.deepEqual({ providerSession, authenticatedAt }, expected);
    }
  });

  it("ends the session when the provider has revoked it", async () => {
    for (const reason of ["login_withdrawn", "login_token_invalid"] as const) {
      const renew = () => Promise.reject(new LoginRefusal(reason, "of somebody else"));
      const { clock, status, logins } = guarded({ auth_check_interval: 60, renew });
      clock.pass(60_000);
      assert.equal(await status(), 302);
      assert.equal(logins.context.sessions.size, 0);
    }
  });

  it("tolerates an unreachable provider for the length of the interval, and retries every 30 s", async () => {
    let checks = 0;
    let isAway = true;
    const renew = async () => {
      checks += 1;
      if (isAway) throw new LoginRefusal("login_unreachable", "away");
      return { identity: ada, tokens: { access: "a", refresh: "r", id: "" } };
    };
    const { clock, status } = guarded({ auth_check_interval: 60, renew });
    clock.pass(60_000);
    assert.equal(await status(), 200);
    assert.equal(await status(), 200);
    assert.equal(checks, 1);
    clock.pass(30_000);
    assert.equal(await status(), 200);
    assert.equal(checks, 2);
    clock.pass(31_000);
    assert.equal(await status(), 503);
    isAway = false;
    clock.pass(30_000);
    assert.equal(await status(), 200);
  });
});

describe("a route with a login", () => {
  type Given = ReturnType<typeof guarded>;
  const act = async (
    { siteNow }: Given,
    init: ExchangeInit,
    how: "request" | "rehearse" = "request",
    more: Partial<Exchange> = {},
  ) => {
    const module = siteNow()?.findRoute("/", "app.example.com")?.request[0];
    const exchange = Object.assign(exchangeOf(init), more);
    const step = (await module?.[how]?.(exchange)) as Step;
    const { answer } = step;
    const shown = answer && "status" in answer ? answer : undefined;
    const refused = answer && "refused" in answer ? answer.refused : undefined;
    return {
      step,
      exchange,
      status: shown?.status ?? 200,
      body: String(shown?.body ?? ""),
      headers: shown?.headers,
      refused,
    };
  };
  const page = { accept: "text/html" };

  it("a route with a login passes OPTIONS only if configured, also in a dry run", async () => {
    for (const how of ["request", "rehearse"] as const) {
      const open = guarded({ options_passthrough: true });
      const closed = guarded({});
      assert.equal((await act(open, { method: "OPTIONS" }, how)).status, 200, how);
      assert.equal((await act(closed, { method: "OPTIONS" }, how)).status, 401, how);
      assert.notEqual((await act(open, { method: "GET", headers: page }, how)).status, 200, how);
    }
  });

  it("a route with a login rehearses its decision, with a session or for a described visitor, without events", async () => {
    const told: string[] = [];
    const given = guarded({ tell: (type) => void told.push(type) });
    const { loginCookies } = given;
    const rehearse = (init: ExchangeInit, more: Partial<Exchange> = {}) => act(given, init, "rehearse", more);
    const as = (email: string): Partial<Exchange> => ({
      rehearsedAs: { email, emailVerified: true, id: "2", name: "", groups: [] },
    });
    const inside = await rehearse({ loginCookies, headers: page });
    assert.equal(inside.status, 200);
    assert.equal(inside.exchange.request.headers.get("ngrok-auth-user-email"), "ada@example.com");
    assert.equal((await rehearse({ headers: page })).status, 302);
    assert.equal((await rehearse({ headers: { accept: "application/json" } })).status, 401);
    const elsewhere = await rehearse({ loginCookies, headers: page, host: "other.example.com" });
    assert.equal(elsewhere.status, 302);
    assert.match(elsewhere.step.reason, /belongs to another place/);
    given.set({ email_addresses: ["grace@example.com"] });
    const unlisted = await rehearse({ loginCookies, headers: page });
    assert.deepEqual([unlisted.status, unlisted.refused], [403, "login_not_listed"]);
    const described = await rehearse({ headers: page }, as("ada@example.com"));
    assert.deepEqual([described.status, described.refused], [403, "login_not_listed"]);
    const stranger = await rehearse({ headers: page }, as("eve@example.com"));
    assert.deepEqual([stranger.status, stranger.refused], [403, "login_not_listed"]);
    const welcome = await rehearse({ headers: page }, as("grace@example.com"));
    assert.equal(welcome.status, 200);
    assert.equal(welcome.exchange.request.headers.get("ngrok-auth-user-email"), "grace@example.com");
    assert.deepEqual(told, []);
  });

  it("a route with a login refuses a session of another cookie prefix under its own cookie's name", async () => {
    assert.equal(await guarded({}, { cookiePrefix: "other." }).status(), 302);
    assert.equal(await guarded({}, { cookiePrefix: realm.cookiePrefix }).status(), 200);
    assert.equal(await guarded({}, { cookiePrefix: undefined }).status(), 200, "made by an older version");
  });

  it("a route with a login reports an unlisted visitor once, and again when the lists change", async () => {
    const told: unknown[] = [];
    const given = guarded({ tell: (type, _account, make) => void told.push([type, make().sessionId]) });
    const { loginCookies } = given;
    for (const lists of [["grace@example.com"], ["grace@example.com", "x@example.com"]]) {
      given.set({ email_addresses: lists });
      for (let count = 0; count < 3; count += 1) {
        const { status, body } = await act(given, { loginCookies, headers: page });
        assert.equal(status, 403);
        assert.match(body, /signed in as ada@example\.com/);
        assert.match(body, /prompt=select_account/);
      }
    }
    assert.deepEqual(told, [
      ["login_refused.v0", "appses_1"],
      ["login_refused.v0", "appses_1"],
    ]);
  });

  it("a route with a login applies its present lists to the service's headers and the trace", async () => {
    const identity = { ...ada, memberships: ["acme/eng", "acme/ops"] };
    const given = guarded({ teams: ["acme/eng"] }, { identity });
    const { loginCookies } = given;
    const groups = async (): Promise<readonly string[]> => {
      const { exchange, step } = await act(given, { loginCookies, headers: page });
      return [exchange.request.headers.get("postern-auth-groups") ?? "", step.reason];
    };
    const [before, why] = await groups();
    assert.equal(before, "acme/eng");
    given.set({ teams: ["acme/ops"] });
    const [after, whyNow] = await groups();
    assert.equal(after, "acme/ops");
    assert.notEqual(whyNow, why);
  });

  it("a route with a login redirects only navigations over TLS, and tells all others where to log in", async () => {
    const given = guarded({});
    const location = async (init: ExchangeInit) => {
      const { status, headers, body, refused } = await act(given, { target: "/a?b=1", ...init });
      return {
        status,
        refused,
        body,
        policy: String(headers?.["content-security-policy"]),
        challenge: headers?.["www-authenticate"],
      };
    };
    assert.equal((await location({ headers: page })).status, 302);
    const own = 'Login url="https://app.example.com/.postern/login?path=%2Fa%3Fb%3D1"';
    for (const init of [{ headers: page, scheme: "http" }, { headers: { accept: "application/json" } }] as const) {
      const { status, refused, challenge } = await location(init);
      assert.deepEqual([status, refused, challenge], [401, "login_required", own]);
    }
    const form = await location({
      method: "POST",
      headers: { ...page, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
    });
    assert.deepEqual([form.status, form.refused], [401, "login_form"]);
    assert.equal(form.challenge, 'Login url="https://app.example.com/.postern/login?path=%2F"', "what is sent is lost");
    assert.match(form.body, /<a [^>]*target="_blank"/);
    assert.match(form.policy, /frame-ancestors 'none'/);
    const framed = await location({
      headers: { ...page, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site" },
    });
    assert.deepEqual([framed.status, framed.refused], [401, "login_required"]);
    assert.match(framed.body, /<a [^>]*target="_top"/);
    assert.match(framed.policy, /frame-ancestors \*/);
  });

  it("I2: a route with a login ends open exchanges when the session reaches the route's maximum age", async () => {
    const cut: number[] = [];
    const given = guarded({ maximum_duration: 60 });
    const { clock, loginCookies } = given;
    const { status } = await act(given, { loginCookies, headers: page }, "request", {
      breakOff: () => void cut.push(clock.monotonic()),
    });
    assert.equal(status, 200);
    clock.pass(59_000);
    assert.equal(cut.length, 0);
    clock.pass(1_500);
    assert.equal(cut.length, 1);
    assert.ok(given.logins.context.sessions.byId("appses_1"), "other routes bear it for longer");
  });

  it("K4: a route with a login forwards tokens of its own client, and none of the server's", async () => {
    const app = { clientId: "c", clientSecret: "s", baseUrl: "", graphVersion: "" };
    // The tokens are stored to check with the provider again.
    const given = guarded(
      { apps: { github: app }, auth_check_interval: 600 },
      { accessToken: "at", refreshToken: "rt", scopes: ["read:user", "user:email", "offline_access"] },
    );
    const { loginCookies } = given;
    const told = async () => {
      const { status, exchange } = await act(given, { loginCookies, headers: page });
      assert.equal(status, 200);
      return ["access", "refresh"].map((one) => exchange.request.headers.get(`ngrok-auth-oauth-${one}-token`));
    };
    assert.deepEqual(await told(), ["at", "rt"]);
    given.set({ client_id: "", client_secret: "" });
    assert.deepEqual(await told(), [undefined, undefined]);
  });
});
