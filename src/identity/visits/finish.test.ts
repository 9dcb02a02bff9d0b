import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { ada, guarded, realm } from "../../../test/support/guarded.ts";
import { putSession } from "../../../test/support/logins.ts";
import type { Step } from "../../traffic/step.ts";
import type { TellLogin } from "../sessions/login-events.ts";
import { flowCookieName, newFlow, sealFlow, sealState } from "../browser/flow.ts";
import { realmOf } from "../browser/realm.ts";

describe("a login in progress", () => {
  it("a login in progress may take 15 minutes at the provider", async () => {
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

  it("a login in progress ends the account's least recently used session if the maximum is reached", async () => {
    const ended: unknown[] = [];
    const tell: TellLogin = (type, _account, make) => {
      if (type === "login_ended.v0") ended.push([make().sessionId, make().end]);
    };
    const login = async () => ({ identity: ada, tokens: { access: "", refresh: "", id: "" }, scopes: [] });
    const { clock, logins, site } = guarded({ maxSessions: 3, login, tell });
    const ids = (): string[] => Array.from(logins.context.sessions.timed(), ({ id }) => id).sort();
    const { sessions, sealer } = logins.context;
    const { tag, flowCookie } = realmOf(realm);
    const host = "app.example.com";
    const finish = async (): Promise<void> => {
      const flow = newFlow({ routeId: "route", returnPath: "/", tries: 0, anew: false }, clock.now());
      const name = flowCookieName(flowCookie, flow.id);
      const state = sealState({ id: flow.id, host, realm: tag, startedAt: clock.now() }, sealer);
      const done = logins.hostPaths.find("/.postern/callback", site)?.request(
        exchangeOf({
          target: `/.postern/callback?state=${state}&code=c`,
          loginCookies: [name, sealFlow(flow, host, name, sealer)],
        }),
      );
      // The control plane does not answer, and is awaited for a second.
      while (!sessions.ofSubject("1").some(({ record }) => record.loginAt === clock.now())) {
        await new Promise(setImmediate);
      }
      clock.pass(1_000);
      const step = (await done) as Step;
      assert.equal(step.answer && "status" in step.answer && step.answer.status, 303, step.reason);
    };
    clock.pass(3_600_000);
    putSession(logins, clock, realm, { id: "appses_2", lastActive: clock.now() - 1_800_000 });
    putSession(logins, clock, realm, { id: "appses_9", accountId: "ac_2", lastActive: clock.now() - 3_000_000 });
    clock.pass(1_000);
    await finish();
    assert.deepEqual(ended, []);
    clock.pass(1_000);
    await finish();
    assert.deepEqual(ended, [["appses_1", "crowded_out"]]);
    sessions.byId("appses_2")?.touch(clock);
    clock.pass(1_000);
    const before = ids();
    await finish();
    assert.equal(ended.length, 2);
    assert.equal(before.filter((id) => !ids().includes(id)).length, 1);
    assert.deepEqual(
      ["appses_2", "appses_9"].filter((id) => !ids().includes(id)),
      [],
    );
    assert.equal(sessions.of("ac_1"), 3);
  });

  it("I2: a login in progress is not finished by the cookie of another whose id starts alike", async () => {
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
      // From an edge whose clock is too far ahead.
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

  /** A visit by a browser with these cookies. Returns the cookies that are set. */
  const sentAway = async ({ site }: ReturnType<typeof guarded>, loginCookies: readonly string[]) => {
    const module = site?.findRoute("/", "app.example.com")?.request[0];
    const step = await module?.request?.(exchangeOf({ loginCookies, headers: { accept: "text/html" } }));
    const answer = step?.answer;
    assert.ok(answer && "headers" in answer && answer.headers);
    return { ...answer, set: (answer.headers["set-cookie"] as string[]).map((one) => one.split(/[=;]/, 2)) };
  };

  it("I2: a sixth login in progress replaces the browser's oldest, whatever the order of its cookies", async () => {
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

  it("I2: a new login is refused for a minute after three whose session cookies did not arrive", async () => {
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
