/** Repeated checks of a console user with the team's identity provider, and their effect on the session. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { consoleAccess } from "../../src/settings/kinds/console-access.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { openBrowser } from "../support/browser.ts";
import { movableClock } from "../support/clock.ts";
import type { MovableClock } from "../support/clock.ts";
import { startOwnIssuer } from "../support/own-issuer.ts";
import type { Claims, OwnIssuer } from "../support/own-issuer.ts";
import { databases, withoutPatience } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";

const sqlite = databases[0] as (typeof databases)[number];
const minute = 60_000;

describe("the word of the team's identity provider at the console", () => {
  const clock = movableClock();
  let issuer: OwnIssuer;
  let api: TestApi;
  const team = (by: OwnIssuer) =>
    ({
      consoleOidcIssuer: by.url,
      consoleOidcClientId: "console",
      consoleOidcClientSecret: "a-secret-of-tests",
      consoleAccess: ["@example.com=viewer"].map((rule) => consoleAccess.parse(rule)),
    }) as const;
  /** Its tokens are of the server's time. */
  const saying = (more: Claims, at: MovableClock = clock): void => {
    issuer.forge = (claims) => {
      const now = Math.floor(at.now() / 1_000);
      return issuer.sign({ ...claims, name: "Ada", groups: [], iat: now, exp: now + 300, ...more });
    };
  };
  before(async () => {
    issuer = await startOwnIssuer();
    api = await startApi(sqlite, { clock, ...team(issuer) });
  });
  const plain = (): void => {
    Object.assign(issuer, { granted: {}, statuses: {}, userinfo: {} });
    saying({});
  };
  afterEach(plain);
  after(async () => {
    await api.stop();
    await issuer.stop();
  });

  /** Its cookie. */
  const logIn = async (at = api): Promise<string> => {
    const browser = openBrowser({ ca: "" });
    const { url } = await browser.visit(`${at.baseUrl}/console/login`);
    assert.equal(url, `${at.baseUrl}/`);
    return browser.cookies(at.baseUrl);
  };
  const reads = async (cookie: string, at = api): Promise<number> => {
    const { status } = await at.request("GET", "/ip_policies", { headers: { authorization: undefined, cookie } });
    return status;
  };
  /** Refresh tokens that are tried meanwhile. */
  const tried = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    const before = issuer.refreshed.length;
    await work();
    return issuer.refreshed.slice(before);
  };

  it("P12: a refresh that the team's identity provider refuses ends the console session immediately", async () => {
    plain();
    const refusals: readonly (() => void)[] = [
      () => (issuer.granted = { error: "invalid_grant" }),
      () => saying({ sub: "bob" }),
      () => (issuer.statuses = { "/userinfo": 401 }),
    ];
    for (const refuse of refusals) {
      plain();
      const cookie = await logIn();
      const { console_sessions: before } = await api.ok("GET", "/console_sessions");
      refuse();
      clock.move(10 * minute);
      assert.equal(await reads(cookie), 401);
      const { console_sessions: left } = await api.ok("GET", "/console_sessions");
      assert.equal(left.length, before.length - 1, "it is no longer there");
    }
  });

  it("the console waits a minute before it asks an unreachable team's identity provider again, and uses the last answer meanwhile", async () => {
    plain();
    const cookie = await logIn();
    issuer.statuses = { "/token": 503 };
    clock.move(10 * minute);
    const statuses: number[] = [];
    const ask = async (): Promise<void> => void statuses.push(await reads(cookie));
    assert.equal((await tried(ask)).length, 1);
    assert.equal((await tried(ask)).length, 0);
    clock.move(minute - 1_000);
    assert.equal((await tried(ask)).length, 0);
    clock.move(1_000);
    assert.equal((await tried(ask)).length, 1);
    issuer.statuses = {};
    clock.move(minute);
    assert.equal((await tried(ask)).length, 1);
    clock.move(9 * minute);
    assert.equal((await tried(ask)).length, 0, "its word is fresh");
    assert.deepEqual(new Set(statuses), new Set([200]));
  });

  it("P12: the console asks its team's identity provider with the latest tokens", async () => {
    plain();
    issuer.granted = { refresh_token: "first" };
    const cookie = await logIn();
    const asked = await tried(async () => {
      for (const next of ["second", "", "third"]) {
        issuer.granted = { refresh_token: next };
        clock.move(10 * minute);
        assert.equal(await reads(cookie), 200);
      }
    });
    assert.deepEqual(asked, ["first", "second", "second"], "one that is not replaced is good still");
  });

  it("P12: somebody at the console whose identity provider gave nothing to refresh with is out when its word is an hour old", async () => {
    plain();
    issuer.granted = { refresh_token: "" };
    const cookie = await logIn();
    issuer.statuses = { "/userinfo": 401 };
    clock.move(10 * minute);
    assert.equal(await reads(cookie), 200, "an access token that has run out says nothing of its person");
    clock.move(50 * minute);
    assert.equal(await reads(cookie), 401);
  });

  it("P12: a session at the console stays the one of the identity provider that it came with, whatever later tokens say", async () => {
    plain();
    issuer.session = "came-with";
    const [cookie, other] = [await logIn(), await logIn()];
    for (const more of [{ sid: "another" }, { sid: undefined }]) {
      saying(more);
      clock.move(10 * minute);
      assert.equal(await reads(cookie), 200);
    }
    const now = Math.floor(clock.now() / 1_000);
    const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
    const tell = async (sid: string): Promise<void> => {
      const token = issuer.sign({ iss: issuer.url, aud: "console", iat: now, exp: now + 120, events, jti: sid, sid });
      const { status } = await api.request("POST", "/console/backchannel-logout", {
        headers: { authorization: undefined, "content-type": "application/x-www-form-urlencoded" },
        body: `logout_token=${token}`,
      });
      assert.equal(status, 200);
    };
    await tell("another");
    assert.equal(await reads(cookie), 200);
    await tell("came-with");
    assert.deepEqual([await reads(cookie), await reads(other)], [401, 401]);
  });

  it("P12: a logout that one of several servers receives from the team's identity provider is effective on the others and after a restart", async (context) => {
    const postgres = databases.find(({ name }) => name === "postgres");
    if (!postgres) return context.skip(skipWithoutPostgres || "");
    plain();
    const database = await postgres.create();
    const options = { databaseUrl: withoutPatience(database.url), cluster: true, clock, ...team(issuer) } as const;
    const one = await startApi(postgres, options);
    const others = { ...options, bootstrap: { apiKey: one.apiKey } };
    const other = await startApi(postgres, others);
    const now = Math.floor(clock.now() / 1_000);
    const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
    const claims = {
      iss: issuer.url,
      aud: "console",
      iat: now,
      exp: now + 120,
      events,
      jti: "told once",
      sub: issuer.subject,
    };
    const body = `logout_token=${issuer.sign(claims)}`;
    const tell = async (at: typeof one): Promise<number> => {
      const headers = { authorization: undefined, "content-type": "application/x-www-form-urlencoded" };
      return (await at.request("POST", "/console/backchannel-logout", { headers, body })).status;
    };
    try {
      const first = await logIn(one);
      assert.equal(await tell(one), 200);
      assert.equal(await reads(first, one), 401);
      const later = await logIn(one);
      assert.deepEqual(await Promise.all([tell(other), tell(one)]), [400, 400]);
      assert.equal(await reads(later, one), 200);
    } finally {
      await other.stop();
      await one.plane.stop();
    }
    const again = await startApi(postgres, others);
    try {
      assert.equal(await tell(again), 400);
    } finally {
      await again.stop();
      await database.drop();
    }
  });

  it("P12: concurrent requests at the console share one question to the team's identity provider", async () => {
    plain();
    const cookie = await logIn();
    saying({ email: "ada@elsewhere.example" });
    clock.move(10 * minute);
    const asked = await tried(async () => {
      const statuses = await Promise.all(Array.from({ length: 8 }, () => reads(cookie)));
      assert.deepEqual(new Set(statuses), new Set([401]));
    });
    assert.equal(asked.length, 1);
  });

  it("P12: one of several servers asks the team's identity provider, so that a single-use refresh token is used once", async (context) => {
    const postgres = databases.find(({ name }) => name === "postgres");
    if (!postgres) return context.skip(skipWithoutPostgres || "");
    plain();
    const database = await postgres.create();
    const options = { databaseUrl: withoutPatience(database.url), cluster: true, clock, ...team(issuer) } as const;
    const one = await startApi(postgres, options);
    const other = await startApi(postgres, { ...options, bootstrap: { apiKey: one.apiKey } });
    try {
      const cookie = await logIn(one);
      // Each names the cookie for its own port, as both are one host here.
      const there = cookie.replace(/_\d+=/, `_${new URL(other.baseUrl).port}=`);
      assert.deepEqual([await reads(cookie, one), await reads(there, other)], [200, 200]);
      for (let round = 0; round < 5; round += 1) {
        clock.move(10 * minute);
        const asked = await tried(async () => {
          const statuses = await Promise.all([reads(cookie, one), reads(there, other)]);
          assert.deepEqual(statuses, [200, 200]);
        });
        assert.equal(asked.length, 1);
      }
    } finally {
      await Promise.all([one.stop(), other.stop()]);
      await database.drop();
    }
  });
});
