import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { ada, guarded, realm } from "../../../test/support/guarded.ts";
import { putSession } from "../../../test/support/logins.ts";
import { guardOf } from "../visits/finish.ts";
import type { AddressedRoute } from "./addressed-route.ts";
import { logoutService } from "./logout-service.ts";

describe("a logout request from a SAML provider", () => {
  it("I4: a logout request from a SAML provider ends no session of another account, whatever its realm tag", async () => {
    const { clock, logins, site } = guarded({});
    putSession(logins, clock, realm, { id: "appses_2", accountId: "ac_2", identity: ada });
    assert.ok(site);
    const guard = guardOf(site, () => true);
    const request = { id: "_1", name: { nameId: ada.subject }, sessionIndexes: [], relayState: undefined };
    const method = {
      kind: "saml",
      title: "id.example",
      heard: async () => ({ request }),
      logoutAnswer: async () => undefined,
    };
    const exchange = exchangeOf({ method: "GET", target: "/saml/route/slo?SAMLRequest=x" });
    const at = { exchange, context: logins.context, guard, method, place: {}, used: {} } as unknown as AddressedRoute;
    const { reason } = await logoutService(at);
    assert.match(reason, /ended 1 sessions/);
    assert.equal(logins.context.sessions.byId("appses_1"), undefined);
    assert.equal(logins.context.sessions.byId("appses_2")?.ended, false);
  });
});
