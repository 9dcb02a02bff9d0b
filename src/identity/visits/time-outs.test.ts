import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { putSession, testLogins } from "../../../test/support/logins.ts";
import { everybody } from "../sessions/login-verdict.ts";
import type { LoginMethod } from "../methods/method.ts";

const realm = { siteId: "edge", kind: "oauth", provider: "github", clientId: "c", cookiePrefix: "service." };
const never = (): Promise<never> => Promise.reject(new Error("nobody logs in here"));
const method: LoginMethod = {
  kind: "oauth",
  clientId: "c",
  realmId: "c",
  title: "GitHub",
  url: "https://github.com",
  scopes: [],
  forwardsTokens: false,
  callbackPath: "/oauth2/callback",
  begin: never,
  finish: never,
};
const minute = 60_000;

/** Logins at a host whose routes have these inactivity timeouts in seconds. */
function watched(...inactivityTimeouts: readonly number[]) {
  const clock = makeManualClock();
  const told: [number, string | null, string | null][] = [];
  const logins = testLogins(
    clock,
    {},
    {},
    (_type, _account, make) => {
      const { sessionId, end } = make();
      told.push([clock.monotonic(), sessionId, end]);
    },
    (host) => ({
      accountId: "ac_1",
      hosts: [host],
      logins: guards,
      findRoute: () => undefined,
      advertises: () => true,
    }),
  );
  const scope = {
    accountId: "ac_1",
    siteId: "edge",
    ownerId: "route",
    revision: 1,
  } as Parameters<typeof logins.guard>[3];
  const guards = inactivityTimeouts.map((inactivityTimeout) =>
    logins.guard(
      method,
      "github",
      {
        cookiePrefix: "service.",
        optionsPassthrough: false,
        inactivityTimeout,
        maximumDuration: 0,
        checkInterval: 0,
        lists: everybody,
      },
      scope,
    ),
  );
  after(() => logins.close());
  return { clock, logins, told };
}

describe("sessions that time out", () => {
  it("sessions that time out on all of their routes are reported once, within two minutes", () => {
    const { clock, logins, told } = watched(60, 30);
    putSession(logins, clock, realm, { id: "appses_idle" });
    clock.pass(minute);
    assert.equal(told.length, 0, "another edge may have a use to tell of");
    clock.pass(2 * minute);
    clock.pass(60 * minute);
    assert.deepEqual(
      told.map(([, id, end]) => [id, end]),
      [["appses_idle", "expired"]],
    );
    assert.ok((told[0]?.[0] ?? 0) <= 3 * minute);
  });

  it("sessions that time out on one route continue while another route admits them", () => {
    const { clock, logins, told } = watched(60, 0);
    putSession(logins, clock, realm, { id: "appses_other", inactivityTimeout: 60 });
    clock.pass(60 * minute);
    assert.deepEqual(told, []);
  });

  it("sessions that time out here continue if another edge reports a use", () => {
    const { clock, logins, told } = watched(60);
    const session = (): unknown => putSession(logins, clock, realm, { id: "appses_used", loginAt: began });
    const began = clock.now();
    for (let at = 0; at < 20; at += 1) {
      session();
      clock.pass(minute);
    }
    assert.deepEqual(told, []);
  });

  for (const [name, wrongMs] of [
    ["an hour ahead", 60 * minute],
    ["an hour behind", -60 * minute],
    ["400 days ahead", 400 * 24 * 60 * minute],
  ] as const) {
    it(`S7: sessions that time out are not over while the clock is ${name} for an hour, and end in time afterwards`, () => {
      const { clock, logins, told } = watched(3 * 60 * 60);
      putSession(logins, clock, realm, { id: "appses_used" });
      clock.step(wrongMs);
      putSession(logins, clock, realm, { id: "appses_new" });
      clock.pass(60 * minute);
      clock.step(-wrongMs);
      clock.pass(30 * minute);
      assert.equal(told.length, 0);
      clock.pass(100 * minute);
      assert.deepEqual(new Set(told.map(([, id]) => id)), new Set(["appses_new", "appses_used"]));
    });
  }

  it("sessions that time out together end over several turns, each once", () => {
    const { clock, logins, told } = watched(60);
    for (let at = 0; at < 1_200; at += 1) putSession(logins, clock, realm, { id: `appses_${at}` });
    clock.pass(10 * minute);
    assert.equal(new Set(told.map(([, id]) => id)).size, 1_200);
    assert.equal(told.length, 1_200);
    const inTurn = Map.groupBy(told, ([at]) => at);
    assert.ok([...inTurn.values()].every(({ length }) => length <= 125));
    assert.ok(inTurn.size <= 20);
  });
});
