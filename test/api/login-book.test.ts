/** What the control plane keeps of the logins that edges tell of, and whom it tells of them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { cookieHash } from "../../src/identity/session.ts";
import type { SessionRecord } from "../../src/identity/session.ts";
import type { Downward } from "../../src/routing/planes/messages.ts";
import { newId } from "../../src/lib/ids.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { ada } from "../support/guarded.ts";
import { databases } from "../support/postgres.ts";

const minute = 60_000;

describe("the control plane's book of logins", () => {
  const clock = movableClock();
  let api: TestApi;
  let accountId: string;
  let calls = 0;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number], { clock });
    const { accounts } = await api.ok("GET", "/accounts");
    accountId = accounts[0].id;
    api.edge.send({ type: "hello", edgeId: "edge" });
  });
  after(() => api.stop());

  const recordOf = (change: Partial<SessionRecord> = {}): SessionRecord => {
    const now = clock.now();
    const id = newId("appses", now);
    return {
      id,
      accountId,
      userId: newId("appusr", now),
      cookieHash: cookieHash(id),
      realm: "aaaaaaaa",
      host: "app.example.com",
      siteId: "edge",
      routeId: "route",
      providerName: "GitHub",
      providerUrl: "https://github.com",
      clientId: "c",
      loginAt: now,
      lastActive: now,
      checkedAt: now,
      scopes: [],
      identity: ada,
      accessToken: "",
      refreshToken: "",
      idToken: "",
      maximumDuration: 0,
      inactivityTimeout: 600,
      ...change,
    };
  };
  const browser = { userAgent: "curl/8.0", address: "192.0.2.1", publicUrl: "https://app.example.com" };
  /** Asks, and resolves with the answer to it. */
  const asked = async <Type extends Downward["type"]>(
    type: Type,
    send: (call: number) => void,
  ): Promise<Extract<Downward, { type: Type }>> => {
    const call = (calls += 1);
    send(call);
    const found = (): Downward | undefined =>
      api.edge.received.find((one) => one.type === type && "call" in one && one.call === call);
    return (await eventually(found, Boolean)) as Extract<Downward, { type: Type }>;
  };
  const tell = (session: SessionRecord) =>
    asked("login_stored", (call) => api.edge.send({ type: "login", call, session, browser }));
  const wanted = async (of: string, hashed: string) =>
    (
      await asked("login_found", (call) =>
        api.edge.send({ type: "login_wanted", call, accountId: of, cookieHash: hashed }),
      )
    ).object;
  const shown = async (id: string) => await api.ok("GET", `/app/sessions/${id}`);

  it("P1: the control plane's book of logins tells an edge of a session when its own account asks, and of none when another does", async () => {
    const other = await api.ok("POST", "/accounts", { name: "other" });
    const record = recordOf();
    await tell(record);
    assert.equal((await wanted(accountId, record.cookieHash))?.id, record.id);
    assert.equal(await wanted(other.id, record.cookieHash), null);
    assert.equal(await wanted(accountId, cookieHash("nobody's")), null);
  });

  it("the control plane's book of logins has a login once, however often an edge tells of it, and what was done to it since", async () => {
    const record = recordOf();
    await tell(record);
    clock.move(minute);
    api.edge.send({ type: "login_activity", used: [[accountId, record.id, clock.now()]] });
    const used = await eventually(
      () => shown(record.id),
      ({ last_active: at }) => Date.parse(at) > record.loginAt + minute / 2,
    );
    assert.ok(Date.parse(used.expires_at) > record.loginAt + 10 * minute + minute / 2, "it ends later by as much");
    await tell(record);
    assert.deepEqual(await shown(record.id), used);
  });

  it("the control plane's book of logins has a user as active as their latest session, in whatever order edges tell of them", async () => {
    const [one, other] = [recordOf(), recordOf()];
    await tell(one);
    await tell(other);
    const { application_user: user } = await shown(one.id);
    assert.equal((await shown(other.id)).application_user.id, user.id, "one identity is one user");
    const [late, early] = [clock.now() + 5 * minute, clock.now() + 2 * minute];
    api.edge.send({ type: "login_activity", used: [[accountId, one.id, late]] });
    api.edge.send({ type: "login_activity", used: [[accountId, other.id, early]] });
    await eventually(
      () => shown(other.id),
      ({ last_active: at }) => Date.parse(at) > early - 2_000,
    );
    const { last_active: at } = await api.ok("GET", `/app/users/${user.id}`);
    assert.ok(Date.parse(at) > late - 2_000, at);
  });
});
