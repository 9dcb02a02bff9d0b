/** When access tokens of clients end at an edge, to the millisecond. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { cookieHash, newAccessToken } from "../../src/identity/sessions/login-session.ts";
import type { SessionRecord } from "../../src/identity/sessions/login-session.ts";
import { host, routeId, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { flowKeyObject, sessionOf } from "../support/logins.ts";

const realm = { siteId: "edghts_1", kind: "oauth", provider: "github", clientId: "c", cookiePrefix: "s." };
const minute = 60_000;
const machine_clients = {
  enabled: true,
  registration: ["dynamic"],
  client_ids: [],
  redirect_uris: [],
  scopes: ["access"],
  scope_rules: [],
  access_token_minutes: 60,
  refresh_token_days: 30,
  consent: "once",
};

function loginOf(email: string, clients: object | null = machine_clients) {
  const lists = { scopes: [], email_addresses: [email], email_domains: [], organizations: [], teams: [] };
  return {
    enabled: true,
    options_passthrough: false,
    cookie_prefix: "s.",
    inactivity_timeout: 0,
    maximum_duration: 0,
    auth_check_interval: 0,
    provider: { github: { client_id: "c", client_secret: "s", ...lists } },
    machine_clients: clients,
  };
}

for (const protocol of protocols) {
  describe(`access tokens over ${protocol}`, { timeout: 60_000 }, () => {
    let fixture: EdgeWithAgent;
    before(async () => {
      fixture = await startEdgeWithAgent();
      const key = flowKeyObject(fixture.clock.now());
      fixture.put(key.kind, key.id, key.doc);
      fixture.route({ oauth: loginOf("ada@example.com") });
    });
    after(() => fixture.stop());

    /** Stores a login with a token, as the control plane does. @param changes replace parts of the record */
    const issue = (id: string, changes: Partial<SessionRecord> = {}, issuedAt = fixture.clock.now()): string => {
      const token = newAccessToken();
      const grant = { client: "c", name: "Client", scopes: ["access"], audience: routeId, issuedAt };
      const { object } = sessionOf(fixture.clock, realm, { host, cookieHash: cookieHash(token), grant, ...changes });
      fixture.put(object.kind, id, object.doc);
      return token;
    };
    const ask = async (token: string): Promise<number> =>
      (await fixture.ask(protocol, { headers: { accept: "application/json", authorization: `Bearer ${token}` } }))
        .status;

    it(`I8: an access token over ${protocol} is valid until the last millisecond of its time, and not for one more`, async () => {
      await fixture.clock.hold(async () => {
        const token = issue("appses_time");
        assert.equal(await ask(token), 200);
        fixture.clock.move(60 * minute - 1);
        assert.equal(await ask(token), 200);
        fixture.clock.move(1);
        assert.equal(await ask(token), 401);
        const old = issue(
          "appses_old",
          { loginAt: fixture.clock.now() - 90 * minute },
          fixture.clock.now() - 59 * minute,
        );
        assert.equal(await ask(old), 200, "the time counts from the token, not from the login");
        fixture.clock.move(minute);
        assert.equal(await ask(old), 401);
      });
    });

    it(`I8: an access token over ${protocol} ends with the provider's limit and with a shorter time of its route`, async () => {
      await fixture.clock.hold(async () => {
        const limited = issue("appses_limit", { endsAt: fixture.clock.now() + 10 * minute });
        const long = issue("appses_long");
        fixture.clock.move(10 * minute - 1);
        assert.deepEqual([await ask(limited), await ask(long)], [200, 200]);
        fixture.clock.move(1);
        assert.deepEqual([await ask(limited), await ask(long)], [401, 200]);
        fixture.route({ oauth: loginOf("ada@example.com", { ...machine_clients, access_token_minutes: 10 }) });
        assert.equal(await ask(long), 401);
        fixture.route({ oauth: loginOf("ada@example.com") });
        assert.equal(await ask(long), 200);
      });
    });

    it(`I8: the next request over ${protocol} is refused after a revocation, a renewal and a change of the route`, async () => {
      const revoked = issue("appses_revoked");
      assert.equal(await ask(revoked), 200);
      fixture.edge.remove("application_session", "appses_revoked");
      assert.equal(await ask(revoked), 401);

      const former = issue("appses_renewed");
      assert.equal(await ask(former), 200);
      const renewed = issue("appses_renewed");
      assert.deepEqual([await ask(former), await ask(renewed)], [401, 200]);

      fixture.route({ oauth: loginOf("grace@example.com") });
      assert.equal(await ask(renewed), 403);
      fixture.route({ oauth: loginOf("ada@example.com", null) });
      assert.equal(await ask(renewed), 401);
      fixture.route({ oauth: loginOf("ada@example.com") });
      assert.equal(await ask(renewed), 200);
    });

    it(`I8: a response over ${protocol} that is still running ends when its token is revoked`, async () => {
      const token = issue("appses_stream");
      const begun = new Promise<void>((resolve) =>
        fixture.answer((_request, response) => {
          response.writeHead(200, { "content-type": "text/event-stream" });
          response.write("data: 1\n\n");
          resolve();
        }),
      );
      const ended = ask(token).then(
        () => "ended",
        () => "ended",
      );
      await begun;
      fixture.edge.remove("application_session", "appses_stream");
      assert.equal(await ended, "ended");
      fixture.answer(undefined);
    });
  });
}
