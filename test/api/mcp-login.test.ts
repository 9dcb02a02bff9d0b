/** `/mcp` for applications that people connect: from discovery to revocation, and attacks. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { errorCode } from "../../src/lib/errors.ts";
import { answerAsEdge, startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { ClientStore, planIn, toolText } from "../support/mcp-client.ts";
import { authorizationUrl, redirectUri } from "../support/oauth-client.ts";
import type { ServerMetadata } from "../support/oauth-client.ts";
import { makeAuthenticator } from "../support/passkeys.ts";
import { databases } from "../support/postgres.ts";

/** Each request of a client, a browser or a page reaches another of the three nodes. */
const places = databases.flatMap((database) => [
  { name: database.name, database },
  ...(database.name === "postgres" ? [{ name: "three nodes", database, balanced: 3 }] : []),
]);
const [minute, day] = [60_000, 86_400_000];

interface Browser {
  readonly cookie: string;
  readonly token: string;
}

type Transport = Parameters<Client["connect"]>[0];

for (const { name: place, database, ...nodes } of places) {
  describe(`logins at /mcp on ${place}`, () => {
    const clock = movableClock();
    let api: TestApi;
    before(async () => {
      api = await startApi(database, {
        clock,
        consoleRedirectUris: ["https://assistant.example/callback"],
        ...nodes,
      });
      api.edge.answer = answerAsEdge;
      api.edge.send({ type: "hello", edgeId: "edge" });
    });
    after(() => api.stop());

    const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
      api.request("POST", path, { headers: { authorization: undefined, origin: api.baseUrl, ...headers }, body });
    const form = (path: string, fields: Readonly<Record<string, string>>) =>
      post(path, new URLSearchParams(fields).toString(), { "content-type": "application/x-www-form-urlencoded" });
    const entered = ({ status, text, headers, body }: ApiResponse): Browser => {
      assert.equal(status, 200, text);
      return { cookie: String(headers["set-cookie"]).split(";", 1)[0] ?? "", token: body.page_token };
    };
    /** A person who has accepted an invitation with a passkey. */
    const join = async (email: string, role: string): Promise<Browser> => {
      const { url } = await api.ok("POST", "/person_invitations", { email, role });
      const code = new URL(url).hash.replace("#invite=", "");
      const { body } = await post("/console/invitation", { code });
      const origin = `http://localhost:${new URL(api.baseUrl).port}`;
      const response = makeAuthenticator().register(body.options, { origin });
      return entered(await post("/console/invitation/accept", { code, name: "Ann", response }));
    };
    const ask = ({ cookie, token }: Browser, path: string, body: Body): Promise<ApiResponse> =>
      post(path, body, { cookie, "postern-console-token": token });
    /** Follows the address that an application opens, to the page that asks the person. */
    const requestAt = async (url: string): Promise<string> => {
      const { pathname, search } = new URL(url);
      const page = await api.request("GET", pathname + search, { headers: { authorization: undefined } });
      assert.equal(page.status, 303, page.text);
      return String(page.headers.location).replace("/#authorize=", "");
    };
    const allow = async (browser: Browser, url: string, scopes: readonly string[]): Promise<string> => {
      const answer = await ask(browser, "/console/application", {
        request: await requestAt(url),
        decision: "allow",
        scopes,
      });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(new URL(answer.body.location).searchParams.get("iss"), api.baseUrl);
      return new URL(answer.body.location).searchParams.get("code") ?? "";
    };
    const transportOf = (store: ClientStore) =>
      new StreamableHTTPClientTransport(new URL(`${api.baseUrl}/mcp`), { authProvider: store });
    const connect = async (browser: Browser, scopes: readonly string[] = ["read"], store = new ClientStore()) => {
      const client = new Client({ name: "said by itself", version: "1.0.0" });
      const first = transportOf(store);
      await assert.rejects(client.connect(first as Transport), UnauthorizedError);
      await first.finishAuth(await allow(browser, String(store.opened), scopes));
      const transport = transportOf(store);
      await client.connect(transport as Transport);
      return { client, store, transport };
    };
    const call = async (client: Client, name: string, given: Record<string, unknown> = {}): Promise<string> =>
      toolText(await client.callTool({ name, arguments: given }));
    /** Nodes write again when they have renewed their leases. */
    const later = async (milliseconds: number): Promise<void> => {
      clock.move(milliseconds);
      if (place !== "three nodes") return;
      await eventually(
        () => Promise.all([1, 2, 3].map(() => api.request("GET", "/readyz"))),
        (answers) => answers.every(({ status }) => status === 200),
      );
    };
    const ping = (token: string, headers: Readonly<Record<string, string>> = {}) =>
      api.request("POST", "/mcp", { key: token, headers, body: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
    const metadata = async (): Promise<ServerMetadata> =>
      (await api.request("GET", "/.well-known/oauth-authorization-server", { headers: { authorization: undefined } }))
        .body;
    const register = async (uris: readonly string[] = [redirectUri]): Promise<string> => {
      const { status, text, body } = await post("/oauth/register", { client_name: "Tester", redirect_uris: uris });
      assert.equal(status, 201, text);
      return body.client_id;
    };
    /** Parameters of a request, and the verifier. */
    const begin = async (changes: Readonly<Record<string, string | undefined>> = {}, clientId?: string) => {
      const id = clientId ?? (await register());
      const resource = `${api.baseUrl}/mcp`;
      const begun = authorizationUrl({ server: await metadata(), clientId: id, resource, changes });
      return { ...begun, clientId: id };
    };
    const exchange = (code: string, { clientId, verifier }: { clientId: string; verifier: string }, more = {}) =>
      form("/oauth/token", {
        grant_type: "authorization_code",
        code,
        code_verifier: verifier,
        client_id: clientId,
        redirect_uri: redirectUri,
        resource: `${api.baseUrl}/mcp`,
        ...more,
      });
    const tokens = async (browser: Browser, scopes: readonly string[] = ["read"]) => {
      const begun = await begin({ scope: "read write" });
      const { status, text, body } = await exchange(await allow(browser, begun.url, scopes), begun);
      assert.equal(status, 200, text);
      return { ...body, ...begun } as Body;
    };

    it(`M6: the public client on ${place} discovers the login, reads in the person's name, and ends with its session`, async () => {
      const ann = await join("ann@example.com", "editor");
      const { client, store } = await connect(ann);
      assert.equal(store.opened?.searchParams.get("scope"), "read");
      assert.equal(store.tokens()?.scope, "read");
      assert.match(await call(client, "find_services"), /^0 services/);
      const { console_sessions: sessions } = await api.ok("GET", "/console_sessions?limit=1");
      assert.deepEqual(
        [sessions[0].client, sessions[0].client_scopes, sessions[0].person],
        ["SDK client", ["read"], "person ann@example.com"],
      );
      assert.ok(!JSON.stringify(sessions).includes("hash"));
      await api.ok("DELETE", `/console_sessions/${sessions[0].id}`);
      await assert.rejects(call(client, "find_services"), UnauthorizedError);
      await client.close();
    });

    it(`M6: the public client on ${place} asks the person for a further scope before it changes anything`, async () => {
      const ann = await join("step@example.com", "editor");
      const { client, store, transport } = await connect(ann);
      const document = { document: "a", objects: { ip_policy: { office: { description: "by an assistant" } } } };
      const planned = await call(client, "plan_change", { document });
      const { access_token = "" } = store.tokens() ?? {};
      // With a refresh token, this client would try the same scopes again.
      store.saveTokens({ access_token, token_type: "Bearer" });
      await assert.rejects(call(client, "apply_plan", { plan: planIn(planned) }), UnauthorizedError);
      assert.deepEqual(store.opened?.searchParams.get("scope")?.split(" ").toSorted(), ["read", "write"]);
      await transport.finishAuth(await allow(ann, String(store.opened), ["read", "write"]));
      const applied = await call(client, "apply_plan", { plan: planIn(planned), reason: "a new office" });
      assert.match(applied, /^Applied plan/);
      const { revisions } = await api.ok("GET", "/revisions?limit=1");
      assert.equal(revisions[0].principal, "person step@example.com");
      assert.equal(revisions[0].reason, 'MCP client "SDK client": a new office');
      await client.close();
    });

    it(`M6: a token on ${place} has never more rights than the person's present role`, async () => {
      const viewer = await join("view@example.com", "viewer");
      const { access_token: token, scope } = await tokens(viewer, ["read", "write"]);
      assert.equal(scope, "read");
      const names = (await ping(token)).body.result.tools.map(({ name }: Body) => name);
      assert.ok(!names.includes("apply_plan"));
      const { people } = await api.ok("GET", "/people");
      const { id } = people.find(({ email }: Body) => email === "view@example.com");
      await api.ok("PATCH", `/people/${id}`, { active: false });
      assert.equal((await ping(token)).body.error_code, errorCode("access_token_ended"));
    });

    it(`M6: an application on ${place} can act for an API key, and ends with the key`, async () => {
      const { id, token: key } = await api.ok("POST", "/api_keys", { scopes: ["write"] });
      // A node may learn of a new key a moment later.
      const browser = entered(
        await eventually(
          () => post("/console/session", { api_key: key }),
          ({ status }) => status === 200,
        ),
      );
      const given = await tokens(browser, ["read", "write"]);
      assert.equal(given.scope, "read write");
      assert.equal((await ping(given.access_token)).status, 200);
      await api.ok("DELETE", `/api_keys/${id}`);
      assert.equal((await ping(given.access_token)).status, 401);
      assert.equal((await refresh(given)).body.error, "invalid_grant");
    });

    const refresh = ({ clientId, refresh_token }: Body) =>
      form("/oauth/token", { grant_type: "refresh_token", refresh_token, client_id: clientId });

    it(`M6: tokens on ${place} expire after an hour, refresh tokens after 30 days, and a second use ends both`, async () => {
      const ann = await join("time@example.com", "editor");
      const first = await tokens(ann);
      await later(59 * minute);
      assert.equal((await ping(first.access_token)).status, 200);
      await later(2 * minute);
      const expired = await ping(first.access_token);
      assert.equal(expired.body.error_code, errorCode("access_token_ended"));
      assert.match(expired.headers["www-authenticate"] ?? "", /error="invalid_token".*resource_metadata=/);
      await later(29 * day);
      const second = { ...first, ...(await refresh(first)).body };
      assert.equal((await ping(second.access_token)).status, 200);
      assert.equal((await refresh(first)).body.error, "invalid_grant");
      assert.equal((await ping(second.access_token)).status, 401, "the reuse has ended the grant");
      const late = await tokens(await join("late@example.com", "editor"));
      await later(31 * day);
      assert.equal((await refresh(late)).body.error, "invalid_grant");
    });

    it(`M6: codes on ${place} are valid once, for a minute, for one client, verifier, redirect and resource`, async () => {
      const ann = await join("code@example.com", "editor");
      const others = [
        { code_verifier: "a".repeat(43) },
        { client_id: await register(["http://127.0.0.1/other"]) },
        { redirect_uri: "http://127.0.0.1:4712/callback" },
      ];
      for (const other of others) {
        const begun = await begin();
        const code = await allow(ann, begun.url, ["read"]);
        assert.equal((await exchange(code, begun, other)).body.error, "invalid_grant", JSON.stringify(other));
        assert.equal((await exchange(code, begun)).body.error, "invalid_grant");
      }
      const abroad = await begin();
      const target = { resource: "https://other.example/mcp" };
      assert.equal(
        (await exchange(await allow(ann, abroad.url, ["read"]), abroad, target)).body.error,
        "invalid_target",
      );
      const slow = await begin();
      const code = await allow(ann, slow.url, ["read"]);
      await later(61_000);
      assert.equal((await exchange(code, slow)).body.error, "invalid_grant");
    });

    it(`M6: requests on ${place} without PKCE, with another resource or an unknown address are refused`, async () => {
      const visit = async (changes: Readonly<Record<string, string | undefined>>, clientId?: string) => {
        const { pathname, search } = new URL((await begin(changes, clientId)).url);
        return await api.request("GET", pathname + search, { headers: { authorization: undefined } });
      };
      for (const changes of [
        { resource: "https://other.example/mcp" },
        { resource: undefined },
        { redirect_uri: "http://127.0.0.1:4711/elsewhere" },
        { redirect_uri: "https://evil.example/callback" },
        { redirect_uri: "javascript:alert(1)" },
        { client_id: "dyn_forged.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" },
        { state: "x".repeat(2_000) },
      ]) {
        const page = await visit(changes);
        assert.equal(page.status, 400, JSON.stringify(changes));
        assert.match(page.headers["content-type"] ?? "", /^text\/html/);
        assert.match(page.headers["content-security-policy"] ?? "", /frame-ancestors 'none'/);
      }
      for (const [changes, error] of [
        [{ code_challenge: undefined }, "invalid_request"],
        [{ code_challenge_method: "plain" }, "invalid_request"],
        [{ response_type: "token" }, "unsupported_response_type"],
        [{ scope: "everything" }, "invalid_scope"],
      ] as const) {
        const { headers } = await visit(changes);
        const back = new URL(headers.location ?? "");
        assert.equal(back.origin, new URL(redirectUri).origin);
        assert.equal(back.searchParams.get("error"), error);
      }
      const hosted = "https://assistant.example/callback";
      assert.equal((await visit({ redirect_uri: hosted }, await register([hosted]))).status, 303);
      const foreign = "https://other.example/callback";
      assert.equal((await visit({ redirect_uri: foreign }, await register([foreign]))).status, 400);
    });

    it(`M6: only the console's own page on ${place} confirms, for the person who is logged in`, async () => {
      const ann = await join("page@example.com", "editor");
      const request = await requestAt((await begin()).url);
      const shown = await ask(ann, "/console/application", { request });
      assert.deepEqual(
        [shown.body.client, shown.body.destination, shown.body.possible_scopes],
        ["Tester", "an application on this computer", ["read"]],
      );
      const decision = { request, decision: "allow", scopes: ["read"] };
      const refused = [
        await post("/console/application", decision),
        await ask({ ...ann, token: "wrong" }, "/console/application", decision),
        await post("/console/application", decision, {
          cookie: ann.cookie,
          "postern-console-token": ann.token,
          origin: "https://evil.example",
        }),
      ];
      assert.deepEqual(
        refused.map(({ status }) => status),
        [401, 403, 403],
      );
      const forged = await ask(ann, "/console/application", { ...decision, request: `${request.slice(0, -2)}AA` });
      assert.equal(forged.body.error_code, errorCode("consent_lost"));
      const declined = await ask(ann, "/console/application", { request, decision: "deny" });
      assert.equal(new URL(declined.body.location).searchParams.get("error"), "access_denied");
      await later(16 * minute);
      assert.equal((await ask(ann, "/console/application", { request })).body.error_code, errorCode("consent_lost"));
    });

    it(`M6: a token on ${place} is no API key and no cookie, and a cookie is no token`, async () => {
      const ann = await join("mix@example.com", "admin");
      const { access_token: token, refresh_token: renewal } = await tokens(ann, ["read", "write"]);
      const asKey = await api.request("GET", "/ip_policies", { headers: { authorization: `Bearer ${token}` } });
      assert.equal(asKey.status, 401);
      const [name = "", value = ""] = ann.cookie.split("=");
      for (const text of [token, renewal]) {
        const headers = { authorization: undefined, cookie: `${name}=${text}`, "sec-fetch-site": "same-origin" };
        assert.equal((await api.request("GET", "/console/session", { headers })).status, 401);
      }
      for (const text of [value, renewal, `${token}x`, `postern_oa_${value}`]) {
        assert.equal((await ping(text)).status, 401, text);
      }
      assert.equal((await form("/oauth/revoke", { token })).status, 200);
      assert.equal((await ping(token)).status, 401);
    });
  });
}
