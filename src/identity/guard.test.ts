import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { ada, guarded } from "../../test/support/guarded.ts";
import { LoginRefusal } from "./calls/identity.ts";

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

  it("I2: a session that was ended here stays so, though the control plane has not heard of it and still tells of it", async () => {
    const { ask, logins } = guarded({});
    const { sessions, reports, end } = logins.context;
    const session = sessions.byId("appses_1");
    assert.ok(session);
    end(session, "logged_out");
    const asked = ask();
    // The first question that was asked of it: nothing else is.
    reports.found(1, session.record);
    assert.equal((await asked).reason.split(":")[0], "the session is not known here");
    assert.equal(sessions.size, 0);
    // Of any other the control plane is believed.
    const told = ask();
    reports.found(2, { ...session.record, id: "appses_2" });
    assert.equal((await told).answer, undefined);
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
    for (const reason of ["login_withdrawn", "login_token_invalid"] as const) {
      const renew = () => Promise.reject(new LoginRefusal(reason, "of somebody else"));
      const { clock, status, logins } = guarded({ auth_check_interval: 60, renew });
      clock.pass(60_000);
      assert.equal(await status(), 302);
      assert.equal(logins.context.sessions.size, 0);
    }
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
