import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { ada } from "../../../test/support/guarded.ts";
import { openServerStore, storeBut } from "../../../test/support/store.ts";
import type { ServerStore } from "../../../test/support/store.ts";
import { keepingLog } from "../../../test/storage/fixture.ts";
import type { TellLogin } from "../../identity/sessions/login-events.ts";
import { docOf } from "../../identity/sessions/session-records.ts";
import { newId } from "../../lib/ids.ts";
import { httpsEdge } from "../../resources/https-edge.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import { emptyDoc } from "../../schema/doc.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";
import { endGoneLogins } from "./gone-logins.ts";

const kinds: ReadonlySet<string> = new Set(["application_session"]);

describe("sessions of logins removed while no server ran", () => {
  const clock = makeManualClock();
  let server: ServerStore;
  before(async () => void (server = await openServerStore(clock)));
  after(() => server.stop());

  const put = async (siteId: string, count: number): Promise<void> => {
    const { store, accountId } = server;
    await store.write(systemWrite(accountId, "login", clock), (draft) => {
      const user = draft.create(accountId, "application_user", { provider_user_id: newId("x", clock.now()) });
      for (let at = 0; at < count; at += 1) {
        const id = newId("appses", clock.now());
        const doc = docOf({
          id,
          accountId,
          userId: user.id,
          cookieHash: id,
          realm: "aaaaaaaa",
          host: "app.example.com",
          siteId,
          routeId: "route",
          providerName: "GitHub",
          providerUrl: "https://github.com",
          clientId: "c",
          loginAt: clock.now(),
          lastActive: clock.now(),
          checkedAt: clock.now(),
          scopes: [],
          identity: ada,
          accessToken: "",
          refreshToken: "",
          idToken: "",
          maximumDuration: 0,
          inactivityTimeout: 0,
        });
        draft.create(accountId, "application_session", { ...doc });
      }
    });
  };
  const left = (): number => [...server.store.objects(kinds)].length;

  it("I2: sessions of logins removed while no server ran end a minute after the next start, in any number, on one node only", async () => {
    const { log, lines } = keepingLog();
    const ends: unknown[][] = [];
    const tell: TellLogin = (type, accountId, make) => {
      const { end, requestId, siteId, routeId, user } = make();
      ends.push([type, accountId, end, requestId, siteId, routeId, user?.providerUserId]);
    };
    await put("edghts_gone", 2_500);
    await put("ac_1 agent.example.com", 1);
    const { store } = server;
    const other = storeBut(store, { jobs: { want: () => ({ isHeld: () => false, end: () => {} }) } });
    const away = storeBut(store, { write: () => Promise.reject(new Error("the database is away")) });
    for (const [on, told] of [
      [other, 0],
      [away, 1],
    ] as const) {
      const ending = endGoneLogins({ store: on, clock, log, tell });
      clock.pass(60_000);
      await new Promise(setImmediate);
      ending.stop();
      assert.deepEqual([left(), lines.length, ends.length], [2_501, told, 0]);
    }
    const stopped = endGoneLogins({ store, clock, log, tell });
    stopped.stop();
    clock.pass(60_000);
    await new Promise(setImmediate);
    assert.equal(left(), 2_501);
    const ending = endGoneLogins({ store, clock, log, tell });
    clock.pass(59_000);
    await new Promise(setImmediate);
    assert.equal(left(), 2_501);
    clock.pass(1_000);
    assert.equal(await eventually(left, (count) => count === 1), 1, "an agent's stay");
    const ended = ["login_ended.v0", server.accountId, "login_gone", null, "edghts_gone", "route", ada.subject];
    assert.equal(
      await eventually(
        () => ends.length,
        (count) => count === 2_500,
      ),
      2_500,
    );
    assert.deepEqual(new Set(ends.map((one) => one.join(" "))), new Set([ended.join(" ")]));
    ending.stop();
  });

  it("sessions are scanned when a route loses a login, and not after its other changes", async () => {
    const { store, accountId } = server;
    let read = 0;
    const counted = storeBut(store, { packed: (kind: string) => ((read += 1), store.packed(kind)) });
    const ending = endGoneLogins({ store: counted, clock, log: keepingLog().log, tell() {} });
    const edge = { ...emptyDoc(httpsEdge.fields), hostports: [] };
    const route = { ...emptyDoc(httpsEdgeRoute.fields), match_type: "path_prefix", match: "/" };
    const write = async (change: (draft: Draft) => void): Promise<number> => {
      await store.write(systemWrite(accountId, "test", clock), change);
      await new Promise(setImmediate);
      return read;
    };
    let id = "";
    const changed = (own: object) => (draft: Draft) => {
      const present = draft.get(accountId, "https_edge_route", id);
      assert.ok(present);
      draft.replace(present, { ...present.doc, ...own });
    };
    const login = { entity_id: "https://idp.example.com/saml/x" };
    const made = (draft: Draft): void => {
      const edge_id = draft.create(accountId, "https_edge", edge).id;
      ({ id } = draft.create(accountId, "https_edge_route", { ...route, edge_id, saml: login }));
    };
    assert.equal(await write(made), 0);
    assert.equal(await write(changed({ match: "/other", saml: { ...login } })), 0);
    assert.equal(await write(changed({ saml: null })), 1);
    assert.equal(await write(changed({ match: "/" })), 1);
    assert.equal(await write(changed({ saml: login })), 1);
    clock.pass(1_000);
    assert.equal(await write((draft) => draft.delete(draft.get(accountId, "https_edge_route", id) as StoredObject)), 2);
    for (let round = 0; round < 5; round += 1) {
      await write(made);
      assert.equal(await write(changed({ saml: null })), 2, "not so soon again");
    }
    clock.pass(1_000);
    await new Promise(setImmediate);
    assert.equal(read, 3, "once for all that went meanwhile");
    ending.stop();
  });
});
