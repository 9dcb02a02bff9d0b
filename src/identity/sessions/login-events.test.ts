import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { putSession, testLogins } from "../../../test/support/logins.ts";
import type { LoginEventDetails, LoginEventType } from "./login-events.ts";

const realm = { siteId: "edge", kind: "oauth", provider: "github", clientId: "c", cookiePrefix: "service." };

describe("login events", () => {
  it("login events include a session that ends by itself, without a request", () => {
    const clock = makeManualClock();
    const told: [LoginEventType, string, LoginEventDetails][] = [];
    const logins = testLogins(clock, { idleDays: 1 }, {}, (type, accountId, make) => {
      told.push([type, accountId, make()]);
    });
    putSession(logins, clock, realm, { id: "appses_aged", maximumDuration: 60 });
    putSession(logins, clock, { ...realm, siteId: "ac_1 app.example.com" }, { id: "appses_idle", routeId: "ep_1" });
    clock.pass(90_000);
    assert.deepEqual(
      told.map(([type, accountId, { sessionId, end, requestId, siteId, routeId, host, user }]) => [
        type,
        accountId,
        sessionId,
        end,
        requestId,
        siteId,
        routeId,
        host,
        user?.id,
      ]),
      [["login_ended.v0", "ac_1", "appses_aged", "expired", null, "edge", "route", "app.example.com", "appusr_1"]],
    );
    clock.pass(86_400_000);
    assert.deepEqual(
      told.slice(1).map(([, , { sessionId, end, siteId, routeId }]) => [sessionId, end, siteId, routeId]),
      [["appses_idle", "expired", "ep_1", null]],
    );
    logins.close();
  });
});
