import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import type { ManualClock } from "../../../test/support/clock.ts";
import { clientId, clientSecret, startOAuthProviders } from "../../../test/support/oauth-providers.ts";
import { eventually } from "../../../test/support/eventually.ts";
import type { OAuthProviders, Person } from "../../../test/support/oauth-providers.ts";
import { createServer } from "../../lib/http.ts";
import type { Connection } from "../calls/provider-connection.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoggedIn } from "../calls/login-client.ts";
import { makeJobs } from "./login-jobs.ts";
import type { LoginJobs } from "./login-jobs.ts";

const ada: Person = { id: "4711", name: "Ada", login: "ada", email: "ada@example.com", verified: true };
const redirectUri = "https://idp.example.com/oauth2/callback";
const verifier = "v".repeat(43);
const refreshing = ["amazon", "gitlab", "google", "microsoft", "twitch"];
const asking = ["facebook", "github", "linkedin"];

describe("calls to providers", () => {
  let providers: OAuthProviders;
  let clock: ManualClock;
  let jobs: LoginJobs;
  before(async () => {
    providers = await startOAuthProviders();
  });
  after(() => providers.stop());
  beforeEach(() => {
    Object.assign(providers, { person: ada, failure: undefined, declines: undefined, hangs: false });
    clock = makeManualClock();
    jobs = makeJobs({ clock, allowLocal: false, issuers: [], ca: undefined, skewSeconds: 60 });
  });

  const connectionTo = (provider: string, more: Partial<Connection> = {}): Connection => ({
    kind: "oauth",
    provider,
    issuer: "",
    clientId,
    clientSecret,
    scopes: provider === "github" ? ["read:user", "user:email"] : ["openid", "email", "profile"],
    refreshes: true,
    baseUrl: providers.baseUrl,
    graphVersion: "",
    ...more,
  });
  /** Logs in like a browser: the code comes from the page that the visitor is sent to. */
  const login = async (connection: Connection): Promise<LoggedIn> => {
    const facts = await jobs.metadata(connection);
    const url = new URL(facts.authorizeUrl);
    url.searchParams.set("redirect_uri", redirectUri);
    url.searchParams.set("state", "s");
    url.searchParams.set("scope", connection.scopes.join(facts.scopeSeparator));
    if (facts.nonce) url.searchParams.set("nonce", "n");
    if (facts.pkce) url.searchParams.set("code_challenge", createHash("sha256").update(verifier).digest("base64url"));
    const sent = await fetch(url, { redirect: "manual" });
    const code = new URL(sent.headers.get("location") as string).searchParams.get("code") as string;
    return await jobs.login(connection, { code, verifier, nonce: "n", redirectUri });
  };
  /** Returns the calls that end without further passage of time. */
  const endedOf = async (some: readonly Promise<unknown>[]): Promise<unknown[]> => {
    const ended: unknown[] = [];
    for (const one of some) void one.then((outcome) => ended.push(outcome));
    for (let turn = 0; turn < 1_000 && ended.length < some.length; turn += 1) {
      await new Promise((done) => setImmediate(done));
    }
    return ended;
  };
  const countsOf = (before: number): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const call of providers.calls.slice(before)) counts[call] = (counts[call] ?? 0) + 1;
    return counts;
  };
  const calls = (): number => providers.calls.length;
  const refusedAs = (reason: string) => (error: unknown) => error instanceof LoginRefusal && error.reason === reason;

  for (const name of [...refreshing, ...asking]) {
    it(`calls to ${name} fetch the identity again, ${refreshing.includes(name) ? "with a new token" : "with the present token"}`, async () => {
      const connection = connectionTo(name);
      const first = await login(connection);
      providers.person = { ...ada, email: "ada@new.example", login: "countess" };
      const before = providers.calls.length;
      const again = await jobs.renew(connection, first.tokens, ada.id);
      assert.equal(again.identity.subject, ada.id);
      assert.equal(again.identity.email, "ada@new.example");
      const tokenCalls = Object.keys(countsOf(before)).filter((call) => call.startsWith("POST "));
      assert.equal(tokenCalls.length, refreshing.includes(name) ? 1 : 0);
      assert.equal(again.tokens.access === first.tokens.access, asking.includes(name));
      // Uses the tokens of the last answer, because GitLab's refresh tokens work once.
      await jobs.renew(connection, again.tokens, ada.id);
      if (name === "gitlab") {
        await assert.rejects(jobs.renew(connection, first.tokens, ada.id), refusedAs("login_withdrawn"));
      }
    });

    it(`calls to ${name} detect that the login was revoked`, async () => {
      const connection = connectionTo(name);
      const { tokens } = await login(connection);
      const spoiled = { ...tokens, access: "gone", ...(refreshing.includes(name) && { refresh: "gone" }) };
      await assert.rejects(jobs.renew(connection, spoiled, ada.id), refusedAs("login_withdrawn"));
    });

    it(`I1: calls to ${name} never turn a session into another person's`, async () => {
      const connection = connectionTo(name);
      const { tokens } = await login(connection);
      providers.person = { ...ada, id: "4712" };
      await assert.rejects(jobs.renew(connection, tokens, ada.id), refusedAs("login_token_invalid"));
    });
  }

  it("I1: calls to providers fetch the key set once when a token names a new key", async () => {
    const connection = connectionTo("google");
    await login(connection);
    clock.pass(61_000);
    await providers.rotateKey();
    const before = providers.calls.length;
    await login(connection);
    await login(connection);
    assert.equal(countsOf(before)["GET /www.googleapis.com/oauth2/v3/certs"], 1);
  });

  it("I1: calls to providers fetch at most one key set per minute for unknown keys", async () => {
    const connection = connectionTo("google");
    await login(connection);
    clock.pass(61_000);
    await providers.rotateKey();
    await login(connection);
    await providers.rotateKey();
    const before = providers.calls.length;
    for (let at = 0; at < 3; at += 1) {
      clock.pass(3_000);
      await assert.rejects(login(connection), refusedAs("login_token_invalid"));
    }
    assert.equal(countsOf(before)["GET /www.googleapis.com/oauth2/v3/certs"], undefined);
    clock.pass(61_000);
    await login(connection);
  });

  it("I7: calls to providers end after ten seconds for a whole login, even if each answer takes less than five", async () => {
    const came: ServerResponse[] = [];
    const server = createServer((_request, response) => void came.push(response)).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const told = { code: "c", verifier, nonce: "n", redirectUri };
      const logged = jobs.login(connectionTo("github", { baseUrl }), told).catch((error: unknown) => error);
      const answers = [{ access_token: "a", token_type: "bearer" }, { id: 4711, login: "ada" }, []];
      for (const [at, answer] of answers.entries()) {
        await eventually(
          () => Promise.resolve(came.length),
          (count) => count > at,
        );
        clock.pass(at < 2 ? 4_900 : 300);
        came[at]?.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
      }
      assert.ok(refusedAs("login_unreachable")(await logged));
    } finally {
      server.close();
    }
  });

  it("I7: calls to providers end after five seconds, with at most 64 per provider at once, and do not delay other providers", async () => {
    const hanging = connectionTo("github");
    const { tokens } = await login(hanging);
    const renew = (): Promise<unknown> => jobs.renew(hanging, tokens, ada.id).catch((error: unknown) => error);
    const before = providers.calls.length;
    providers.hangs = true;
    const first = Array.from({ length: 64 }, renew);
    clock.pass(2_000);
    const second = Array.from({ length: 3_000 }, renew);
    const full = (await endedOf(second.slice(2_048))).filter(refusedAs("login_busy"));
    assert.equal(full.length, 3_000 - 2_048, "calls that have found no room");
    const others = await startOAuthProviders();
    await login(connectionTo("google", { baseUrl: others.baseUrl }));
    await others.stop();
    while (calls() < before + 64) await new Promise((done) => setImmediate(done));
    assert.equal(calls(), before + 64);
    clock.pass(3_000);
    const ended = await endedOf(first);
    assert.equal(ended.length, 64, "calls that have ended after five seconds");
    for (const error of ended) assert.ok(refusedAs("login_unreachable")(error), String(error));
    while (calls() < before + 128) await new Promise((done) => setImmediate(done));
    clock.pass(2_000);
    const late = (await endedOf(second.slice(64, 2_048))).filter(refusedAs("login_busy"));
    assert.equal(late.length, 2_048 - 64, "calls that have waited for five seconds");
    providers.hangs = false;
    clock.pass(3_000);
    await Promise.all(second);
    assert.equal((await jobs.renew(hanging, tokens, ada.id)).identity.subject, ada.id);
  });

  it("calls to providers wait for their turn in a rush, and all are served", async () => {
    const connection = connectionTo("github");
    const { tokens } = await login(connection);
    const rush = Array.from({ length: 500 }, () => jobs.renew(connection, tokens, ada.id));
    for (const { identity } of await Promise.all(rush)) assert.equal(identity.subject, ada.id);
  });

  for (const issuer of [
    "https://127.0.0.1",
    "https://localhost",
    "https://[::1]",
    "https://[::ffff:127.0.0.1]",
    "https://10.1.2.3",
    "https://172.16.0.1",
    "https://192.168.1.1",
    "https://100.64.0.1",
    "https://169.254.169.254",
    "https://[fe80::1]",
    "https://[fd00:ec2::254]",
    "https://[64:ff9b::7f00:1]",
    "https://[2002:7f00:1::]",
    "https://0.0.0.0",
    "https://2130706433",
    "https://0x7f000001",
    "https://0177.0.0.1",
    "https://127.1",
    "http://127.0.0.1",
    "http://93.184.215.14",
  ]) {
    it(`I7: calls to a tenant's issuer never reach internal addresses: ${issuer}`, async () => {
      const { port } = new URL(providers.baseUrl);
      const before = providers.calls.length;
      const connection = connectionTo("", { kind: "oidc", provider: "", issuer: `${issuer}:${port}`, baseUrl: "" });
      const asked = jobs.metadata(connection).catch((error: unknown) => error);
      let outcome: unknown;
      void asked.then((found) => (outcome = found));
      await eventually(
        () => outcome,
        (found) => found !== undefined,
      );
      assert.ok(refusedAs("login_unreachable")(outcome), `${issuer} was asked: ${String(outcome)}`);
      assert.equal(providers.calls.length, before);
    });
  }
});
