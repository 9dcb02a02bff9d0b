import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { exchangeOf } from "../../test/support/exchange.ts";
import { putSession, testLogins } from "../../test/support/logins.ts";
import { tableOf } from "../../test/support/routing.ts";
import { modulesWith } from "../modules/index.ts";
import { defaultsOf } from "../settings/setting.ts";
import { webhookSettings } from "../settings/webhooks.ts";
import type { Step } from "../traffic/step.ts";
import type { LoginJobs } from "./jobs/jobs.ts";
import { LoginRefusal, nobody } from "./calls/identity.ts";
import { flowCookieName, newFlow, sealFlow, sealState } from "./flow.ts";
import { realmOf } from "./realm.ts";
import type { SessionRecord } from "./session.ts";

const ada = { ...nobody, subject: "1", email: "ada@example.com", emailVerified: true, name: "Ada" };

const realm = { siteId: "edge", kind: "oauth", provider: "github", clientId: "c", cookiePrefix: "service." };

interface Options {
  readonly inactivity_timeout?: number;
  readonly maximum_duration?: number;
  readonly auth_check_interval?: number;
  readonly teams?: readonly string[];
  readonly renew?: LoginJobs["renew"];
}

/** A guarded route, and a request with a session to it. */
function guarded({ teams = [], renew, ...given }: Options, change: Partial<SessionRecord> = {}) {
  const clock = makeManualClock();
  const logins = testLogins(clock, {}, renew ? { renew } : {});
  after(() => logins.close());
  const { table, put } = tableOf(clock, modulesWith(defaultsOf(webhookSettings), { logins }));
  put({ kind: "https_edge", id: "edge", doc: { hostports: ["app.example.com:443"] } });
  const set = (more: object = {}): void => {
    const github = {
      client_id: "c",
      client_secret: "s",
      scopes: [],
      email_addresses: [],
      email_domains: [],
      organizations: [],
      teams,
      ...more,
    };
    const oauth = {
      options_passthrough: false,
      cookie_prefix: "service.",
      inactivity_timeout: 0,
      maximum_duration: 0,
      auth_check_interval: 0,
      ...given,
      provider: { github },
    };
    put({
      kind: "https_edge_route",
      id: "route",
      doc: { edge_id: "edge", match_type: "path_prefix", match: "/", oauth },
    });
  };
  set();
  const scopes = ["read:user", "user:email", "read:org"];
  const record = { scopes, identity: ada, refreshToken: "r", id: "appses_1", loginAt: clock.now(), ...change };
  const loginCookies = putSession(logins, clock, realm, record);
  /** By another edge, now. */
  const tellOfUse = (): void => void putSession(logins, clock, realm, { ...record, lastActive: clock.now() });
  const ask = async (): Promise<Step> => {
    const module = table.httpsSite("app.example.com")?.findRoute("/", "app.example.com")?.request[0];
    return (await module?.request?.(exchangeOf({ loginCookies, headers: { accept: "text/html" } }))) as Step;
  };
  const status = async (): Promise<number> => {
    const { answer } = await ask();
    return answer && "status" in answer ? answer.status : 200;
  };
  const site = table.httpsSite("app.example.com");
  return { clock, ask, status, set, logins, site, tellOfUse };
}

describe("I2: a session", () => {
  it("ends when it was inactive for as long as its route bears, and not before", async () => {
    const { clock, status } = guarded({ inactivity_timeout: 60 });
    for (let count = 0; count < 3; count += 1) {
      clock.pass(59_000);
      assert.equal(await status(), 200);
    }
    clock.pass(60_000);
    assert.equal(await status(), 302);
  });

  it("I2: a session is inactive only when no edge has seen a use of it", async () => {
    const { clock, status, tellOfUse } = guarded({ inactivity_timeout: 60 });
    clock.pass(59_000);
    tellOfUse();
    clock.pass(59_000);
    assert.equal(await status(), 200);
  });

  it("S7: ends with the provider's own session, also when the wall clock is set back", async () => {
    const { clock, status } = guarded({}, { endsAt: Date.now() + 7_205_000 });
    clock.step(-3_600_000);
    clock.pass(7_200_000);
    assert.equal(await status(), 200);
    clock.pass(10_000);
    const asked = status();
    // The control plane, which is asked for what is not known here, says nothing.
    clock.pass(100);
    assert.equal(await asked, 302);
  });

  it("S7: ends after its time also when the wall clock is set back or ahead", async () => {
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

  it("S7: a session that was unused for a month by the wall clock is no good, though nothing has run since", async () => {
    const { clock, status } = guarded({});
    clock.step(30 * 86_400_000 - 1_000);
    assert.equal(await status(), 200);
    clock.step(30 * 86_400_000);
    assert.equal(await status(), 302);
  });

  it("I2: a session is judged anew when the configuration changes", async () => {
    const { status, set } = guarded({});
    assert.equal(await status(), 200);
    set({ email_addresses: ["grace@example.com"] });
    assert.equal(await status(), 403);
    set({ email_addresses: ["ada@example.com"] });
    assert.equal(await status(), 200);
  });

  it("I2: a session is no good at another host or realm, or for another account, client or provider", async () => {
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

  it("I2: a session ends with that of its provider, and when it is ended", async () => {
    const { clock, status } = guarded({}, { endsAt: makeManualClock().now() + 60_000 });
    // By the wall clock alone: what ends sessions by and by has not run.
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

  it("I2: a session does not do for a route that asks for more scopes", async () => {
    const { status } = guarded({ teams: ["acme/eng"] }, { scopes: ["read:user", "user:email"] });
    assert.equal(await status(), 302);
  });
});

describe("a check with the provider", () => {
  it("a check with the provider is one for all who wait, and turns away who is no member any more", async () => {
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

  it("ends the session when the provider has withdrawn it", async () => {
    const renew = () => Promise.reject(new LoginRefusal("login_withdrawn", "invalid_grant"));
    const { clock, status } = guarded({ auth_check_interval: 60, renew });
    clock.pass(60_000);
    assert.equal(await status(), 302);
  });

  it("bears a provider that is away for as long as the interval, asking every 30 s", async () => {
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

describe("a login under way", () => {
  it("a login under way may take 15 minutes at the provider, and is late afterwards", async () => {
    for (const [minutes, expected] of [
      [15, "login_provider_error"],
      [15.1, "login_late"],
    ] as const) {
      const { clock, logins, site } = guarded({ maximum_duration: 1 });
      const module = site?.findRoute("/", "app.example.com")?.request[0];
      const begun = (await module?.request?.(exchangeOf({ headers: { accept: "text/html" } }))) as Step;
      assert.ok(begun.answer && "headers" in begun.answer && begun.answer.headers);
      const { location, "set-cookie": cookies } = begun.answer.headers;
      const state = new URL(String(location)).searchParams.get("state") ?? "";
      const [pair = ""] = String(cookies?.[0]).split(";");
      const equals = pair.indexOf("=");
      clock.pass(minutes * 60_000);
      const target = `/.postern/callback?state=${encodeURIComponent(state)}`;
      const loginCookies = [pair.slice(0, equals), pair.slice(equals + 1)];
      const path = logins.hostPaths.find("/.postern/callback", site);
      const step = (await path?.request(exchangeOf({ target, loginCookies }))) as Step;
      assert.equal(step.answer && "refused" in step.answer && step.answer.refused, expected, step.reason);
    }
  });

  it("I2: a login under way is not finished by the cookie of another whose id begins alike", async () => {
    const { clock, logins, site } = guarded({});
    const { sealer } = logins.context;
    const host = "app.example.com";
    const { tag, flowCookie } = realmOf(realm);
    const [id, another] = ["B", "C"].map((one) => `AAAAAA${one.repeat(16)}`) as [string, string];
    const begun = { routeId: "route", returnPath: "/", tries: 0, anew: false };
    const name = flowCookieName(flowCookie, id);
    const loginCookies = [name, sealFlow({ ...newFlow(begun, clock.now()), id }, host, name, sealer)];
    for (const [of, aheadMs, expected] of [
      [another, 0, "login_no_flow"],
      // Of an edge whose clock is ahead by more than clocks may be.
      [id, 60_001, "login_late"],
      [id, 60_000, "login_provider_error"],
    ] as const) {
      const state = sealState({ id: of, host, realm: tag, startedAt: clock.now() + aheadMs }, sealer);
      const path = logins.hostPaths.find("/.postern/callback", site);
      const step = (await path?.request(
        exchangeOf({ target: `/.postern/callback?state=${state}`, loginCookies }),
      )) as Step;
      assert.equal(step.answer && "refused" in step.answer && step.answer.refused, expected, step.reason);
    }
  });

  /** A visit by a browser that has these cookies, and those that it is sent away with. */
  const sentAway = async ({ site }: ReturnType<typeof guarded>, loginCookies: readonly string[]) => {
    const module = site?.findRoute("/", "app.example.com")?.request[0];
    const step = await module?.request?.(exchangeOf({ loginCookies, headers: { accept: "text/html" } }));
    const answer = step?.answer;
    assert.ok(answer && "headers" in answer && answer.headers);
    return { ...answer, set: (answer.headers["set-cookie"] as string[]).map((one) => one.split(/[=;]/, 2)) };
  };

  it("I2: a login under way is the sixth of a browser when the oldest goes, in whatever order its cookies come", async () => {
    const given = guarded({});
    const cookies: string[][] = [];
    for (let count = 0; count < 5; count += 1) {
      const { set } = await sentAway(given, cookies.flat());
      assert.equal(set.length, 1);
      cookies.push(...set);
      given.clock.pass(1_000);
    }
    const [oldest] = cookies;
    for (const order of [cookies, cookies.toReversed()]) {
      const { set } = await sentAway(given, order.flat());
      assert.deepEqual(set[0], [oldest?.[0], ""]);
      assert.equal(set.length, 2);
    }
  });

  it("I2: a login under way is not begun for a minute after three whose sessions did not come back, and then it is", async () => {
    const given = guarded({});
    const { clock, logins } = given;
    const name = `${realmOf(realm).flowCookie}recent`;
    const recent = (tries: number) => [
      name,
      logins.context.sealer.seal(`${tries} ${clock.now()}`, `app.example.com ${name}`),
    ];
    assert.ok("location" in ((await sentAway(given, recent(2))).headers ?? {}));
    const three = recent(3);
    clock.pass(59_999);
    const refused = await sentAway(given, three);
    assert.equal("refused" in refused && refused.refused, "login_loop");
    clock.pass(1);
    assert.ok("location" in ((await sentAway(given, three)).headers ?? {}));
  });
});
