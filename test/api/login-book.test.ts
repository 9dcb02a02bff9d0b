/** The control plane's records of logins that edges report, and which edges it informs. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { cookieHash } from "../../src/identity/sessions/login-session.ts";
import type { SessionRecord } from "../../src/identity/sessions/login-session.ts";
import type { Downward } from "../../src/routing/planes/messages.ts";
import { newId } from "../../src/lib/ids.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { ada } from "../support/guarded.ts";
import { databases } from "../support/postgres.ts";
import { derOf, makeProviderKeys, metadataXml } from "../support/saml-idp.ts";

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
  /** Sends a question, and resolves with its answer. */
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

  it("P1: the control plane's records of logins are sent to an edge only for the account that asks", async () => {
    const other = await api.ok("POST", "/accounts", { name: "other" });
    const record = recordOf();
    await tell(record);
    assert.equal((await wanted(accountId, record.cookieHash))?.id, record.id);
    assert.equal(await wanted(other.id, record.cookieHash), null);
    assert.equal(await wanted(accountId, cookieHash("nobody's")), null);
  });

  it("the control plane's records of logins contain a login once, however often an edge reports it, with later changes", async () => {
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

  it("the control plane's records of logins show a user as active as their latest session, in any order of reports", async () => {
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

  describe("a removed login", () => {
    const client = { client_id: "c", client_secret: "s" };
    const oauth = (own: object = client): object => ({ oauth: { provider: { github: own } } });
    const edgeWith = async (...modules: readonly object[]) => {
      const { id } = await api.ok("POST", "/edges/https", {});
      const routes: string[] = [];
      for (const [at, blocks] of modules.entries()) {
        const made = await api.ok("POST", `/edges/https/${id}/routes`, {
          match_type: "path_prefix",
          match: `/${at}`,
          ...blocks,
        });
        routes.push(`/edges/https/${id}/routes/${made.id}`);
      }
      return { id: id as string, routes };
    };
    const sessionAt = async (siteId: string, change: Partial<SessionRecord> = {}): Promise<string> => {
      const record = recordOf({ siteId, ...change });
      await tell(record);
      return record.id;
    };
    const isThere = async (id: string): Promise<boolean> =>
      (await api.request("GET", `/app/sessions/${id}`)).status === 200;
    /** Resolves once the effects of earlier writes are done: a session at a deleted edge ends last. */
    const settled = async (): Promise<void> => {
      const { id } = await edgeWith(oauth());
      const last = await sessionAt(id);
      await api.ok("DELETE", `/edges/https/${id}`);
      assert.equal(
        await eventually(
          () => isThere(last),
          (now) => !now,
        ),
        false,
      );
    };

    it("I2: a login removed with its edge leaves no session, and other sessions remain", async () => {
      const [gone, other] = [await edgeWith(oauth()), await edgeWith(oauth())];
      const own = await Promise.all([sessionAt(gone.id), sessionAt(gone.id, { accountId })]);
      const others = [await sessionAt(other.id), await sessionAt(`${accountId} app.example.com`)];
      await api.ok("DELETE", `/edges/https/${gone.id}`);
      await settled();
      assert.deepEqual(await Promise.all(own.map(isThere)), [false, false]);
      assert.deepEqual(await Promise.all(others.map(isThere)), [true, true]);
    });

    it("I2: a login that no route of the edge requires any more leaves no session", async () => {
      const { id, routes } = await edgeWith(oauth(), oauth());
      const [first = "", second = ""] = routes;
      const session = await sessionAt(id);
      await api.ok("PATCH", first, { oauth: null });
      await settled();
      assert.equal(await isThere(session), true, "the other route has the same login");
      await api.ok("PATCH", second, oauth({ ...client, email_domains: ["example.com"] }));
      await settled();
      assert.equal(await isThere(session), true, "who is admitted is no part of it");
      await api.ok("PATCH", second, oauth({}));
      await settled();
      assert.equal(await isThere(session), true, "it may be the server's own app");
      await api.ok("PATCH", second, oauth({ client_id: "d", client_secret: "s" }));
      await settled();
      assert.equal(await isThere(session), false);
      const again = await sessionAt(id, { clientId: "d" });
      await api.ok("DELETE", second);
      await settled();
      assert.equal(await isThere(again), false);
    });

    it("I2: a login that was disabled, or whose cookies have another realm, leaves no session", async () => {
      const prefixed = (cookie_prefix: string) => ({ oauth: { provider: { github: client }, cookie_prefix } });
      const disabled = { oauth: { enabled: false, provider: { github: client } } };
      const cases: readonly (readonly [
        before: object,
        after: object,
        cookiePrefix: string | undefined,
        stays: boolean,
      ])[] = [
        [oauth(), disabled, "service.", false],
        [oauth(), prefixed("service."), "service.", true],
        [oauth(), prefixed("other."), "service.", false],
        [oauth(), prefixed("other."), undefined, true],
        [prefixed("other."), { ...prefixed("other."), circuit_breaker: null }, "other.", true],
      ];
      const sessions: string[] = [];
      for (const [before, after, cookiePrefix] of cases) {
        const { id, routes } = await edgeWith(before);
        const [route = ""] = routes;
        sessions.push(await sessionAt(id, { cookiePrefix }));
        await api.ok("PATCH", route, after);
      }
      await settled();
      assert.deepEqual(
        await Promise.all(sessions.map(isThere)),
        cases.map(([, , , stays]) => stays),
      );
    });

    it("I2: a login is distinguished by provider, issuer, client and route", async () => {
      const issuer = "https://id.example.com";
      const keys = await makeProviderKeys();
      const idp_metadata = metadataXml({ certificates: [derOf(keys.certificatePem)], redirect: `${issuer}/sso` });
      const oidc = (own: object = {}): object => ({ oidc: { issuer, ...client, ...own } });
      const saml = (own: object = {}): object => ({ saml: { idp_metadata, ...own } });
      const byIssuer = { providerName: "id.example.com", providerUrl: issuer };
      const cases: readonly (readonly [before: object, after: object, made: Partial<SessionRecord>, stays: boolean])[] =
        [
          [oidc(), oidc({ maximum_duration: 60 }), byIssuer, true],
          [oidc(), oidc({ issuer: "https://other.example.com" }), byIssuer, false],
          [oidc(), oidc({ client_id: "d" }), byIssuer, false],
          [oauth(), { oauth: { provider: { gitlab: client } } }, {}, false],
          [saml(), saml({ authorized_groups: ["staff"] }), {}, true],
          [saml(), { saml: null }, {}, false],
          [{}, oauth(), {}, true],
        ];
      const sessions: string[] = [];
      for (const [before, after, made] of cases) {
        // Of another route's client there is a login, too.
        const { id, routes } = await edgeWith(before, saml());
        const [first = ""] = routes;
        const { saml: module } = await api.ok("GET", first);
        sessions.push(await sessionAt(id, { ...made, ...(module && { clientId: module.entity_id }) }));
        await api.ok("PATCH", first, after);
      }
      await settled();
      assert.deepEqual(
        await Promise.all(sessions.map(isThere)),
        cases.map(([, , , stays]) => stays),
      );
    });

    it("I2: a removed login leaves its sessions if a policy rule may still require it", async () => {
      const rule = { actions: [{ type: "oauth", config: { provider: "github", ...client } }] };
      const policy = { traffic_policy: { value: JSON.stringify({ on_http_request: [rule] }) } };
      const { id, routes } = await edgeWith(oauth(), policy);
      const [module = "", ruled = ""] = routes;
      const session = await sessionAt(id);
      await api.ok("DELETE", module);
      await settled();
      assert.equal(await isThere(session), true);
      await api.ok("PATCH", ruled, { traffic_policy: null });
      await settled();
      assert.equal(await isThere(session), false);
    });
  });
});
