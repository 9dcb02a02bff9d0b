/** Which callbacks finish a login, which are refused, and the results, in-process and independent of each other. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { ada, guarded, realm } from "../../../test/support/guarded.ts";
import { putSession } from "../../../test/support/logins.ts";
import type { Step } from "../../traffic/step.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginSite } from "../guard/login-context.ts";
import type { TellLogin } from "../sessions/login-events.ts";
import { finishLogin, guardsOf } from "./finish.ts";
import { flowCookieName, newFlow, sealFlow, sealState } from "../browser/flow.ts";
import type { Flow, FlowState } from "../browser/flow.ts";
import { Guard } from "../guard/login-guard.ts";
import { realmOf } from "../browser/realm.ts";
import type { RealmParts } from "../browser/realm.ts";
import type { SessionRecord } from "../sessions/login-session.ts";

type Given = ReturnType<typeof guarded>;

const host = "app.example.com";
const { tag, sessionCookie } = realmOf(realm);

interface Brought {
  readonly flow?: Partial<Flow>;
  readonly state?: Partial<FlowState>;
  /** Replaces state and code. */
  readonly query?: string;
  readonly cookies?: readonly string[];
  readonly of?: RealmParts;
}

/** The provider's callback to a browser, valid except for the given changes. */
function back({ clock, logins }: Given, { flow: more, state, query, cookies = [], of = realm }: Brought) {
  const { sealer } = logins.context;
  const known = { routeId: "route", returnPath: "/a?b=1", tries: 0, anew: false };
  const flow = { ...newFlow(known, clock.now()), ...more };
  const sealed = sealState({ id: flow.id, host, realm: realmOf(of).tag, startedAt: clock.now(), ...state }, sealer);
  const name = flowCookieName(realmOf(of).flowCookie, flow.id);
  return exchangeOf({
    target: `/.postern/callback?${query ?? `state=${sealed}&code=c`}`,
    loginCookies: [name, sealFlow(flow, host, name, sealer), ...cookies],
    headers: { accept: "text/html" },
  });
}

/** The control plane does not answer, and is awaited for a second. */
async function settled(given: Given, exchange: ReturnType<typeof back>): Promise<Step> {
  const done = Promise.resolve(given.logins.hostPaths.find("/.postern/callback", given.site)?.request(exchange));
  const wait = { isOver: false };
  const end = (): void => void (wait.isOver = true);
  void done.then(end, end);
  for (; !wait.isOver; given.clock.pass(100)) await new Promise(setImmediate);
  return (await done) as Step;
}

const finish = (given: Given, brought: Brought = {}): Promise<Step> => settled(given, back(given, brought));

function answerOf({ answer, reason }: Step) {
  assert.ok(answer && "status" in answer, reason);
  return { ...answer, cookies: [answer.headers?.["set-cookie"] ?? []].flat() };
}

function refusedAs(step: Step): string | undefined {
  return step.answer && "refused" in step.answer ? step.answer.refused : undefined;
}

/** A route whose provider admits everyone as Ada. */
function welcoming(options: Parameters<typeof guarded>[0] = {}, change: Partial<SessionRecord> = {}) {
  const calls: unknown[] = [];
  const login = async (_connection: unknown, exchange: unknown) => {
    calls.push(exchange);
    return { identity: ada, tokens: { access: "at", refresh: "rt", id: "it" }, scopes: ["user:email", "granted"] };
  };
  return Object.assign(guarded({ login, ...options }, change), { calls });
}

describe("the end of a login", () => {
  it("the end of a login creates a session, sets its cookie, and redirects to the original page", async () => {
    const given = welcoming({ maximum_duration: 3_600, auth_check_interval: 600 });
    const { status, headers, cookies } = answerOf(await finish(given));
    assert.deepEqual([status, headers?.["location"]], [303, `https://${host}/a?b=1`]);
    const own = cookies.find((one) => one.startsWith(sessionCookie)) ?? "";
    assert.match(own, /Max-Age=3600(?:;|$)/);
    assert.ok(cookies.some((one) => one.startsWith(realmOf(realm).flowCookie) && /Max-Age=0/.test(one)));
    assert.ok(cookies.some((one) => one.startsWith(`${realmOf(realm).flowCookie}recent`)));
    const made = given.logins.context.sessions.ofSubject("1").find(({ record }) => record.id !== "appses_1");
    const { accessToken, refreshToken, idToken, scopes } = made?.record ?? {};
    assert.deepEqual([accessToken, refreshToken, idToken], ["at", "rt", ""]);
    assert.ok(
      ["read:user", "granted"].every((one) => scopes?.includes(one)),
      String(scopes),
    );
  });

  it("K4: the end of a login stores no token that nothing needs", async () => {
    const app = { clientId: "c", clientSecret: "s", baseUrl: "", graphVersion: "" };
    const given = welcoming({ apps: { github: app } });
    given.set({ client_id: "", client_secret: "" });
    await finish({ ...given, site: given.siteNow() } as Given);
    const made = given.logins.context.sessions.ofSubject("1").find(({ record }) => record.id !== "appses_1");
    assert.deepEqual([made?.record.accessToken, made?.record.refreshToken, made?.record.idToken], ["", "", ""]);
    const own = welcoming();
    await finish(own);
    const forwarded = own.logins.context.sessions.ofSubject("1").find(({ record }) => record.id !== "appses_1");
    assert.deepEqual([forwarded?.record.accessToken, forwarded?.record.refreshToken], ["at", "rt"]);
  });

  it("I4: the end of a login is claimed once over all edges if no provider is asked about it, and otherwise not claimed", async () => {
    const given = welcoming();
    const claims: unknown[] = [];
    let outcome: "first" | "used" = "first";
    const claimHere = async (...claim: readonly unknown[]) => {
      claims.push(claim);
      return outcome;
    };
    const context = { ...given.logins.context, reports: { ...given.logins.context.reports, claimHere } };
    const [guard] = guardsOf(given.site as LoginSite, () => true) as readonly [Guard];
    const calls: string[] = [];
    const ends = async (id: string, repeatableMs: { readonly repeatableMs?: number }): Promise<string | undefined> => {
      const finish = async (): Promise<never> => {
        calls.push(id);
        throw new LoginRefusal("login_provider_error", "asked");
      };
      const own = new Guard(
        { ...guard.options, method: { ...guard.options.method, ...repeatableMs, finish } },
        context,
      );
      const findRoute = () => ({ id: "route", problem: undefined, request: [own] });
      const site: LoginSite = { accountId: "ac_1", hosts: [host], logins: [own], findRoute, advertises: () => true };
      return refusedAs(await finishLogin(site, back(given, { flow: { id } }), context));
    };
    const ids = ["d", "e", "f"].map((one) => one.repeat(22)) as [string, string, string];
    assert.equal(await ends(ids[0], { repeatableMs: 60_000 }), "login_provider_error");
    outcome = "used";
    assert.equal(await ends(ids[1], { repeatableMs: 60_000 }), "login_used");
    // The provider accepts a code only once.
    assert.equal(await ends(ids[2], {}), "login_provider_error");
    assert.deepEqual(calls, [ids[0], ids[2]]);
    const untilMs = given.clock.now() + 60_000;
    assert.deepEqual(claims, [
      ["ac_1", `flow ${ids[0]}`, untilMs],
      ["ac_1", `flow ${ids[1]}`, untilMs],
    ]);
  });

  it("the end of a login creates a session that lasts as long as an unused one if the route sets no limit, but no longer than the provider's limit", async () => {
    const ownCookie = async (given: Given): Promise<string> =>
      answerOf(await finish(given)).cookies.find((one) => one.startsWith(sessionCookie)) ?? "";
    assert.match(await ownCookie(welcoming()), /Max-Age=2592000(?:;|$)/);
    const login = async () => ({
      identity: ada,
      tokens: { access: "", refresh: "", id: "" },
      scopes: [],
      endsAt: given.clock.now() + 60_000,
    });
    const given: Given = guarded({ login, maximum_duration: 3_600 });
    const [, seconds = ""] = /Max-Age=(\d+)/.exec(await ownCookie(given)) ?? [];
    assert.ok(Number(seconds) > 50 && Number(seconds) <= 60, seconds);
    const made = given.logins.context.sessions.ofSubject("1").find(({ record }) => record.id !== "appses_1");
    assert.ok((made?.record.endsAt ?? 0) > 0);
  });

  it("I2: the end of a login is refused without the browser's own flow of an existing login, and the provider is not asked", async () => {
    const given = welcoming();
    const sealed = (state: Partial<FlowState>): string =>
      `state=${sealState({ id: "a".repeat(22), host, realm: tag, startedAt: given.clock.now(), ...state }, given.logins.context.sealer)}`;
    const wrong: readonly (readonly [Brought, string])[] = [
      [{ query: "code=c" }, "login_state_missing"],
      [{ query: "state=x&code=c" }, "login_state_unreadable"],
      [{ query: `${sealed({})}&code=c&code=d` }, "login_state_unreadable"],
      [{ state: { host: "other.example.com" } }, "login_elsewhere"],
      [{ state: { realm: "aaaaaaaa" } }, "login_elsewhere"],
      [{ state: { id: "b".repeat(22) } }, "login_no_flow"],
      [{ flow: { routeId: "another" } }, "login_elsewhere"],
      [{ flow: { returnPath: "/open" } }, "login_elsewhere"],
    ];
    given.put({
      kind: "https_edge_route",
      id: "open",
      doc: { edge_id: "edge", match_type: "path_prefix", match: "/open" },
    });
    const present = { ...given, site: given.siteNow() } as Given;
    for (const [brought, expected] of wrong) {
      assert.equal(refusedAs(await finish(present, brought)), expected, JSON.stringify(brought));
    }
    assert.deepEqual(given.calls, []);
    const twice = { flow: { id: "c".repeat(22) } };
    answerOf(await finish(present, twice));
    assert.equal(refusedAs(await finish(present, twice)), "login_used");
    assert.equal(given.calls.length, 1);
  });

  it("the end of a login finds its route among routes that differ only in their cookie prefix", async () => {
    const given = welcoming();
    const other = { ...realm, cookiePrefix: "other." };
    given.set({}, { id: "second", match: "/second", cookie_prefix: "other." });
    const present = { ...given, site: given.siteNow() } as Given;
    const brought = { of: other, flow: { routeId: "second", returnPath: "/second" } };
    const { headers } = answerOf(await finish(present, brought));
    assert.equal(headers?.["location"], `https://${host}/second`);
  });

  it("the end of a login asks the provider unless the same browser got a valid session meanwhile", async () => {
    const cases: readonly (readonly [what: string, calls: number, Partial<SessionRecord>, Partial<Flow>, object?])[] = [
      ["created in the meantime", 0, {}, { startedAt: -1_000 }],
      ["made before", 1, {}, { startedAt: 1_000 }],
      ["asked for anew", 1, {}, { startedAt: -1_000, anew: true }],
      ["of another client", 1, { clientId: "d" }, { startedAt: -1_000 }],
      ["not on the lists", 1, { identity: { ...ada, email: "x@example.org" } }, { startedAt: -1_000 }, listed],
    ];
    for (const [what, calls, change, { startedAt = 0, ...flow }, lists] of cases) {
      const given = welcoming({}, change);
      if (lists) given.set(lists);
      const present = { ...given, site: given.siteNow() } as Given;
      const brought = { cookies: given.loginCookies, flow: { ...flow, startedAt: given.clock.now() + startedAt } };
      const { status, headers, cookies } = answerOf(await finish(present, brought));
      assert.deepEqual([status, headers?.["location"]], [303, `https://${host}/a?b=1`], what);
      assert.equal(given.calls.length, calls, what);
      assert.ok(
        cookies.some((one) => /Max-Age=0/.test(one)),
        what,
      );
    }
  });

  it("the end of a login informs the operator and the visitor of a refusal, and ends the flow", async () => {
    const told: unknown[] = [];
    const tell: TellLogin = (type, account, make) => void told.push([type, account, make().reason]);
    const unlisted = welcoming({ tell });
    unlisted.set({ email_addresses: ["grace@example.com"] });
    const here = { ...unlisted, site: unlisted.siteNow() } as Given;
    const { status, body, cookies } = answerOf(await finish(here));
    assert.equal(status, 403);
    assert.match(String(body), /You are signed in as ada@example\.com/);
    assert.match(String(body), /prompt=select_account/);
    assert.ok(cookies.length === 1 && /Max-Age=0/.test(cookies[0] ?? ""));
    assert.equal(unlisted.logins.context.sessions.size, 1);
    const login = () => Promise.reject(new LoginRefusal("login_exchange_failed", "the provider refuses the code"));
    const failing = guarded({ tell, login });
    const failed = answerOf(await finish(failing));
    assert.equal(refusedAs(await finish(failing)), "login_exchange_failed");
    assert.ok(failed.cookies.length === 1 && /Max-Age=0/.test(failed.cookies[0] ?? ""));
    assert.deepEqual(
      told.map((one) => (one as readonly string[]).slice(0, 2)),
      [
        ["login_refused.v0", "ac_1"],
        ["login_refused.v0", "ac_1"],
        ["login_refused.v0", "ac_1"],
      ],
    );
  });

  it("the end of a login ends the browser's earlier session in the same realm, and no other", async () => {
    const given = welcoming();
    given.clock.pass(1_000);
    await finish(given, { cookies: given.loginCookies });
    assert.equal(given.logins.context.sessions.byId("appses_1"), undefined);
    const [, value] = putSession(given.logins, given.clock, { ...realm, clientId: "d" }, { id: "appses_8" });
    await finish(given, { cookies: [sessionCookie, value] });
    assert.ok(given.logins.context.sessions.byId("appses_8"));
  });

  it("the end of a login is refused if an earlier module of the route refuses the visitor, and the provider is not asked", async () => {
    const given = welcoming();
    given.put({ kind: "ip_policy", id: "ipp_1", doc: {} });
    const restrict = { ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] } };
    given.set({}, restrict);
    const step = await finish({ ...given, site: given.siteNow() } as Given);
    assert.ok(step.answer && step.reason === "no rule allows the source", step.reason);
    assert.deepEqual(given.calls, []);
    const rule = { ip_policy_id: "ipp_1", cidr: "192.0.2.0/24", action: "allow" };
    given.put({ kind: "ip_policy_rule", id: "ipr_1", doc: rule });
    const present = { ...given, site: given.siteNow() } as Given;
    const exchange = back(present, {});
    answerOf(await settled(present, exchange));
    assert.match(exchange.steps.map(({ reason }) => reason).join(), /192\.0\.2\.0\/24/, "it is in the trace");
  });

  it("S1: the ends of logins take turns when they arrive and when the provider has answered", async () => {
    const given = welcoming();
    const path = given.logins.hostPaths.find("/.postern/callback", given.site);
    const drained = async (): Promise<void> => {
      for (let count = 0; count < 200; count += 1) await Promise.resolve();
    };
    const done = Array.from({ length: 6 }, () => settled(given, back(given, {})));
    assert.ok(path);
    await drained();
    assert.equal(given.calls.length, 4, "the first four of a turn");
    assert.equal(given.logins.context.sessions.of("ac_1"), 1, "none of which ends in it");
    await Promise.all(done);
    assert.equal(given.logins.context.sessions.of("ac_1"), 7);
  });
});

const listed = { email_addresses: ["ada@example.com"] };
