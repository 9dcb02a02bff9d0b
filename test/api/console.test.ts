/** Access to the console, and what a session may do, with requests like a browser's. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";

const sqlite = databases[0] as (typeof databases)[number];
const hour = 3_600_000;

interface Session {
  /** `name=value`. */
  readonly cookie: string;
  readonly token: string;
  readonly id: string;
}

describe("the console", () => {
  const clock = movableClock();
  let api: TestApi;
  before(async () => {
    api = await startApi(sqlite, { clock });
  });
  after(() => api.stop());

  const call = (
    method: string,
    path: string,
    headers: Readonly<Record<string, string | undefined>>,
    body?: unknown,
  ): Promise<ApiResponse> =>
    api.request(method, path, {
      headers: { authorization: undefined, origin: api.baseUrl, ...headers },
      ...(body !== undefined && { body }),
    });
  const logIn = async (body: object, headers: Readonly<Record<string, string>> = {}): Promise<ApiResponse> =>
    await call("POST", "/console/session", headers, body);
  const sessionOf = ({ headers, body }: ApiResponse): Session => ({
    cookie: String(headers["set-cookie"]).split(";", 1)[0] ?? "",
    token: body.page_token,
    id: body.id,
  });
  const open = async (key = api.apiKey): Promise<Session> => {
    const answer = await logIn({ api_key: key });
    assert.equal(answer.status, 200, answer.text);
    return sessionOf(answer);
  };
  const code = async (): Promise<string> => {
    const { url } = await api.ok("POST", "/console_links");
    return new URL(url).hash.replace("#code=", "");
  };
  const isRefused = ({ status, body }: ApiResponse, name: Parameters<typeof errorCode>[0]): void => {
    assert.equal(body.error_code, errorCode(name), JSON.stringify(body));
    assert.ok(status >= 400);
  };

  it("P10: the console opens once with a link, and an unused link expires after 15 minutes", async () => {
    const once = await code();
    assert.equal((await logIn({ code: once })).status, 200);
    isRefused(await logIn({ code: once }), "console_code_spent");
    const old = await code();
    clock.move(15 * 60_000);
    isRefused(await logIn({ code: old }), "console_code_spent");
  });

  it("P10: a link to the console works at any server that shares the database, and once over all of them", async (context) => {
    const postgres = databases.find(({ name }) => name === "postgres");
    if (!postgres) return context.skip(skipWithoutPostgres || "");
    const database = await postgres.create();
    const options = { databaseUrl: database.url, cluster: true } as const;
    const one = await startApi(postgres, options);
    const other = await startApi(postgres, { ...options, bootstrap: { apiKey: one.apiKey } });
    try {
      const { url } = await one.ok("POST", "/console_links");
      const taken = { code: new URL(url).hash.replace("#code=", "") };
      const enter = (at: TestApi): Promise<ApiResponse> =>
        at.request("POST", "/console/session", {
          headers: { authorization: undefined, origin: at.baseUrl },
          body: taken,
        });
      const answers = await Promise.all([enter(other), enter(one), enter(other)]);
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
      const opened = sessionOf(answers.find(({ status }) => status === 200) as ApiResponse);
      for (const at of [one, other]) {
        // Each names the cookie for its own port, as both are one host here.
        const name = `postern_console_${new URL(at.baseUrl).port}`;
        const cookie = `${name}=${opened.cookie.replace(/^[^=]+=/, "")}`;
        const { status } = await at.request("GET", "/ip_policies", { headers: { authorization: undefined, cookie } });
        assert.equal(status, 200);
      }
    } finally {
      await Promise.all([one.stop(), other.stop()]);
      await database.drop();
    }
  });

  it("P10: the console opens by an API key, and its cookie is for this host, for HTTP alone, and for no other site", async () => {
    const answer = await logIn({ api_key: api.apiKey });
    const field = String(answer.headers["set-cookie"]);
    assert.match(field, /^postern_console_\d+=[0-9a-z]{50}; Path=\/; Max-Age=43\d{3}; HttpOnly; SameSite=Strict$/);
    assert.ok(!answer.text.includes(api.apiKey));
    const proxied = await logIn({ api_key: api.apiKey }, { "x-forwarded-proto": "https" });
    assert.match(String(proxied.headers["set-cookie"]), /^__Host-postern_console=.*; Path=\/;.*; Secure$/);
    isRefused(await logIn({ api_key: "postern_ak_wrong" }), "unknown_credentials");
  });

  it("the console can read and change what its key can, and the history names the key", async () => {
    const { id } = await api.ok("POST", "/api_keys", { description: "a viewer", scopes: ["read"] });
    assert.ok(id);
    const { cookie, token } = await open();
    const made = await call("POST", "/ip_policies", { cookie, "postern-console-token": token }, { description: "c" });
    assert.equal(made.status, 201, made.text);
    const { body } = await call("GET", "/revisions?limit=1", { cookie });
    const { body: session } = await call("GET", "/console/session", { cookie });
    assert.equal(body.revisions[0].principal, session.api_key.id);
  });

  it("P10: a session at the console with a key of few scopes has no others", async () => {
    const { token: key } = await api.ok("POST", "/api_keys", { scopes: ["read"] });
    const { cookie, token } = await open(key);
    assert.equal((await call("GET", "/ip_policies", { cookie })).status, 200);
    const made = await call("POST", "/ip_policies", { cookie, "postern-console-token": token }, {});
    isRefused(made, "scope_missing");
  });

  it("P10: pages of other sites change nothing with a session at the console, and read nothing", async () => {
    const { cookie, token } = await open();
    const right = { cookie, "postern-console-token": token };
    for (const wrong of [
      { ...right, origin: "https://evil.example" },
      { ...right, origin: undefined },
      { ...right, "sec-fetch-site": "same-site" },
      { cookie },
      { cookie, "postern-console-token": `${token.slice(1)}0` },
    ]) {
      isRefused(await call("POST", "/ip_policies", wrong, {}), "console_origin_refused");
    }
    isRefused(await call("GET", "/ip_policies", { cookie, "sec-fetch-site": "cross-site" }), "console_origin_refused");
    isRefused(
      await call("POST", "/console/session", { origin: "https://evil.example" }, { api_key: api.apiKey }),
      "console_origin_refused",
    );
  });

  it("P10: the console admits no one from an address that the account refuses, and reveals nothing to them", async () => {
    const { api_key: key } = await api.ok("POST", "/accounts", { name: "restricted" });
    const policy = await api.ok("POST", "/ip_policies", {}, key);
    const rule = { ip_policy_id: policy.id, cidr: "127.0.0.0/8", action: "allow" };
    const { id: ruleId } = await api.ok("POST", "/ip_policy_rules", rule, key);
    const restriction = { type: "api", enforced: true, ip_policy_ids: [policy.id] };
    await api.ok("POST", "/ip_restrictions", restriction, key);
    const { cookie } = await open(key);
    await api.ok("DELETE", `/ip_policy_rules/${ruleId}`, undefined, key);
    isRefused(await logIn({ api_key: key }), "api_source_denied");
    for (const path of ["/console/session", "/console/live", "/ip_policies"]) {
      isRefused(await call("GET", path, { cookie }), "api_source_denied");
    }
  });

  it("P10: a console page receives nothing more once its session has ended", async () => {
    const { cookie, token } = await open();
    const hearing = call("GET", "/console/live", { cookie });
    const other = await open();
    await call("DELETE", "/console/session", { cookie, "postern-console-token": token });
    await call("POST", "/ip_policies", { cookie: other.cookie, "postern-console-token": other.token }, {});
    assert.match((await hearing).text, /^:\n/);
  });

  it("a key has at most 100 sessions at the console, and the one that would end first gives way", async () => {
    const { token: key } = await api.ok("POST", "/api_keys", {});
    const first = await open(key);
    clock.move(1_000);
    const rest: Session[] = [];
    for (let count = 1; count < 100; count += 1) rest.push(await open(key));
    assert.equal((await call("GET", "/ip_policies", { cookie: first.cookie })).status, 200);
    await open(key);
    isRefused(await call("GET", "/ip_policies", { cookie: first.cookie }), "console_session_ended");
    assert.equal((await call("GET", "/ip_policies", { cookie: rest[0]?.cookie ?? "" })).status, 200);
  });

  it("P10: a key has at most 100 unused links to the console, and a new one replaces its oldest", async () => {
    const { token: key } = await api.ok("POST", "/api_keys", {});
    const make = async (by = key): Promise<string> => {
      const { url } = await api.ok("POST", "/console_links", undefined, by);
      return new URL(url).hash.replace("#code=", "");
    };
    const other = await make(api.apiKey);
    const first = await make();
    clock.move(1_000);
    const second = await make();
    for (let count = 2; count <= 100; count += 1) await make();
    isRefused(await logIn({ code: first }), "console_code_spent");
    for (const code of [second, other]) assert.equal((await logIn({ code })).status, 200);
    const last = await make();
    clock.move(14 * 60_000);
    assert.equal((await logIn({ code: last })).status, 200);
  });

  it("P11: the console is not there under a name that was made to lead here", async () => {
    const { cookie } = await open();
    for (const path of ["/", "/console/session", "/console/live", "/ip_policies"]) {
      isRefused(
        await call("GET", path, { cookie, host: `evil.example:${new URL(api.baseUrl).port}` }),
        "console_host_refused",
      );
    }
    const own = await call("GET", "/", { host: "127.0.0.1:1" });
    assert.match(own.headers["content-security-policy"] ?? "", /frame-ancestors 'none'/);
    assert.equal((await api.request("GET", "/ip_policies", { headers: { host: "api.example.com" } })).status, 200);
  });

  it("a console session ends by logging out, by deletion, with its key, and after 12 hours", async () => {
    const { token: key, id: keyId } = await api.ok("POST", "/api_keys", {});
    const [left, revoked, keyless, old] = [await open(), await open(), await open(key), await open()];
    const out = await call("DELETE", "/console/session", { cookie: left.cookie, "postern-console-token": left.token });
    assert.equal(out.status, 204);
    assert.match(String(out.headers["set-cookie"]), /Max-Age=0/);
    await api.ok("DELETE", `/console_sessions/${revoked.id}`);
    await api.ok("DELETE", `/api_keys/${keyId}`);
    for (const { cookie } of [left, revoked, keyless]) {
      isRefused(await call("GET", "/ip_policies", { cookie }), "console_session_ended");
    }
    assert.equal((await call("GET", "/ip_policies", { cookie: old.cookie })).status, 200);
    clock.move(12 * hour);
    isRefused(await call("GET", "/ip_policies", { cookie: old.cookie }), "console_session_ended");
    const { cookie } = await open();
    const { body } = await call("GET", "/console_sessions", { cookie });
    assert.ok(body.console_sessions.every((one: { id: string }) => one.id !== old.id));
  });

  it("the console is not there where it is off, and the API is", async () => {
    const other = await startApi(sqlite, { console: "off" });
    try {
      assert.equal((await other.request("GET", "/")).status, 404);
      assert.equal((await other.request("GET", "/console/session")).status, 404);
      isRefused(await other.request("POST", "/console_links"), "console_off");
      assert.equal((await other.request("GET", "/ip_policies")).status, 200);
    } finally {
      await other.stop();
    }
  });
});
