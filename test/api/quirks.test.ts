/** Requests of public clients that a stricter server would refuse (semantics, "Bodies", "Lists"). */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

describe("the habits of public clients", () => {
  let api: TestApi;
  let backend: Body;
  let edge: Body;
  let route: Body;
  let path: string;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number]);
    backend = await api.ok("POST", "/backends/tunnel_group", { labels: { app: "web" } });
    edge = await api.ok("POST", "/edges/https", { description: "edge" });
    route = await api.ok("POST", `/edges/https/${edge.id}/routes`, { match_type: "path_prefix", match: "/" });
    path = `/edges/https/${edge.id}/routes/${route.id}`;
  });
  after(() => api.stop());

  it("beforeId pages like before_id", async () => {
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) made.push((await api.ok("POST", "/ip_policies", {})).id);
    const page = await api.ok("GET", `/ip_policies?beforeId=${made[2]}&limit=1`);
    assert.deepEqual(
      page.ip_policies.map((one: Body) => one.id),
      [made[1]],
    );
  });

  it("before_id may name a deleted object", async () => {
    const older = await api.ok("POST", "/ip_policies", {});
    const gone = await api.ok("POST", "/ip_policies", {});
    await api.ok("DELETE", `/ip_policies/${gone.id}`);
    assert.equal((await api.ok("GET", `/ip_policies?before_id=${gone.id}&limit=1`)).ip_policies[0].id, older.id);
  });

  it("a module may be wrapped together with the ids of its path", async () => {
    const body = { edge_id: edge.id, id: route.id, module: { backend_id: backend.id, enabled: false } };
    const replaced = await api.ok("PUT", `${path}/backend`, body);
    assert.deepEqual([replaced.backend.id, replaced.enabled], [backend.id, false]);
  });

  it("a module's fields may stand beside the ids of its path", async () => {
    const body = { edge_id: "other", id: "other", backend_id: backend.id };
    assert.equal((await api.ok("PUT", `${path}/backend`, body)).backend.id, backend.id);
  });

  it("a module may arrive without body and content type", async () => {
    const response = await api.request("PUT", `${path}/compression`);
    assert.deepEqual([response.status, response.body.enabled], [200, true]);
  });

  it("a module that is mentioned in a PATCH is replaced whole, others stay, null removes", async () => {
    await api.ok("PUT", `${path}/backend`, { backend_id: backend.id });
    const changed = await api.ok("PATCH", path, { compression: { enabled: false } });
    assert.deepEqual([changed.compression.enabled, changed.backend.backend.id], [false, backend.id]);
    const removed = await api.ok("PATCH", path, { compression: null });
    assert.deepEqual([removed.compression, removed.backend.backend.id], [null, backend.id]);
  });

  it("ids in the bodies of PATCH and POST are ignored: the path wins", async () => {
    const body = { id: "something", edge_id: "something", description: "named" };
    const changed = await api.ok("PATCH", path, body);
    assert.deepEqual([changed.id, changed.edge_id, changed.description], [route.id, edge.id, "named"]);
    const created = await api.ok("POST", `/edges/https/${edge.id}/routes`, {
      ...body,
      match_type: "exact_path",
      match: "/x",
    });
    assert.equal(created.edge_id, edge.id);
  });

  it("empty match and match_type in a PATCH leave a route's match; empty notes clear", async () => {
    await api.ok("PATCH", path, { description: "there" });
    const changed = await api.ok("PATCH", path, { match: "", match_type: "", description: "", metadata: "" });
    assert.deepEqual([changed.match, changed.match_type, changed.description], ["/", "path_prefix", ""]);
  });

  it("empty labels in a PATCH leave a backend's labels", async () => {
    const changed = await api.ok("PATCH", `/backends/tunnel_group/${backend.id}`, { description: "d", labels: {} });
    assert.deepEqual([changed.labels, changed.description], [{ app: "web" }, "d"]);
  });

  it("empty or absent members in a PATCH leave failover, weighted, static and restrictions unchanged", async () => {
    const policy = await api.ok("POST", "/ip_policies", {});
    const cases: readonly [string, Body, Body, string][] = [
      ["/backends/failover", { backends: [backend.id] }, { backends: [] }, "backends"],
      ["/backends/weighted", { backends: { [backend.id]: 5 } }, { backends: {} }, "backends"],
      ["/backends/static", { address: "10.0.0.1:80" }, { address: "" }, "address"],
      ["/ip_restrictions", { type: "agent", ip_policy_ids: [policy.id] }, { ip_policy_ids: [] }, "ip_policies"],
    ];
    for (const [collection, body, empty, name] of cases) {
      const created = await api.ok("POST", collection, body);
      for (const patch of [empty, {}]) {
        const changed = await api.ok("PATCH", `${collection}/${created.id}`, { ...patch, description: "d" });
        assert.deepEqual(changed[name], created[name], collection);
      }
    }
  });

  it("an empty PATCH changes nothing and is no error", async () => {
    const before = await api.request("GET", path);
    const response = await api.request("PATCH", path, { body: {} });
    assert.deepEqual([response.status, response.body], [200, before.body]);
    assert.equal(response.headers["etag"], before.headers["etag"]);
  });

  it("empty lists clear hostports and ACLs", async () => {
    const other = await api.ok("POST", "/edges/https", { hostports: ["clear.example.com:443"] });
    assert.deepEqual((await api.ok("PATCH", `/edges/https/${other.id}`, { hostports: [] })).hostports, []);
    const credential = await api.ok("POST", "/credentials", { acl: ["bind:*.example.com", "bind:app=web"] });
    assert.deepEqual((await api.ok("PATCH", `/credentials/${credential.id}`, { acl: [] })).acl, []);
  });

  it("null clears a string and means a default elsewhere", async () => {
    const bot = await api.ok("POST", "/bot_users", { name: "nulls", active: null });
    assert.equal(bot.active, true);
    assert.equal((await api.ok("PATCH", path, { description: null })).description, "");
    assert.equal((await api.request("PATCH", `/bot_users/${bot.id}`, { body: { name: null } })).status, 400);
  });

  it("zeros of clients that cannot leave them out mean the default", async () => {
    const breaker = {
      tripped_duration: 0,
      rolling_window: 0,
      num_buckets: 0,
      volume_threshold: 0,
      error_threshold_percentage: 0.5,
    };
    const module = await api.ok("PUT", `${path}/circuit_breaker`, breaker);
    assert.deepEqual([module.tripped_duration, module.num_buckets, module.volume_threshold], [10, 10, 20]);
  });

  it("the older name of a reserved domain's domain is accepted", async () => {
    assert.equal(
      (await api.ok("POST", "/reserved_domains", { name: "Older.example.com" })).domain,
      "older.example.com",
    );
  });

  it("a route PATCH with one bad module changes nothing", async () => {
    const before = await api.ok("GET", path);
    const body = { description: "half", backend: { backend_id: "bkdtg_unknown" } };
    const refused = await api.request("PATCH", path, { body });
    assert.deepEqual([refused.status, "backend.backend_id" in refused.body.details], [404, true]);
    assert.deepEqual(await api.ok("GET", path), before);
  });

  it("a module may be an empty object, bare or wrapped", async () => {
    for (const body of [{}, { module: {} }, { id: route.id, edge_id: edge.id }, { id: route.id, module: {} }]) {
      await api.request("DELETE", `${path}/websocket_tcp_converter`);
      assert.deepEqual(await api.ok("PUT", `${path}/websocket_tcp_converter`, body), { enabled: true });
    }
  });

  it("commands to a session accept the bare id as their body, an empty object, or nothing", async () => {
    api.edge.answer = (message) =>
      message.type === "command" ? { type: "command_result", call: message.call } : undefined;
    const accountId = (await api.ok("GET", "/accounts")).accounts[0].id;
    const id = `ts_${"1".repeat(27)}`;
    const session = {
      id,
      accountId,
      credentialId: "cr_1",
      metadata: "",
      region: "",
      startedAt: "2026-01-01T00:00:00Z",
    };
    const agent = { agentVersion: "3", ip: "::1", os: "linux", transport: "ngrok/2" };
    api.edge.send({ type: "session_opened", session: { ...session, ...agent } });
    const headers = { "content-type": "application/json" };
    for (const command of ["restart", "stop", "update"]) {
      for (const body of [id, JSON.stringify(id), "{}", undefined]) {
        const response = await api.request("POST", `/tunnel_sessions/${id}/${command}`, { body, headers });
        assert.deepEqual([response.status, response.text], [204, ""], `${command} ${body}`);
      }
    }
  });

  it("a content type without a body is no body, whatever the method", async () => {
    const headers = { "content-type": "application/json" };
    assert.equal((await api.request("GET", "/ip_policies", { headers })).status, 200);
    const { id } = await api.ok("POST", "/ip_policies", {});
    assert.equal((await api.request("PATCH", `/ip_policies/${id}`, { headers })).status, 200);
    assert.equal((await api.request("DELETE", `/ip_policies/${id}`, { headers })).status, 204);
    assert.equal((await api.request("DELETE", `/ip_policies/${id}`, { headers })).status, 404);
  });

  it("a slash at the end of a path is passed over", async () => {
    for (const one of ["/ip_policies/", "/edges/https/", `${path}/`, `${path}/compression/`]) {
      await api.ok("PUT", `${path}/compression`, {});
      assert.equal((await api.request("GET", one)).status, 200, one);
    }
    assert.equal((await api.request("POST", "/ip_policies/", { body: {} })).status, 201);
  });

  it("a webhook provider is accepted in any case, and returned as it was sent", async () => {
    for (const provider of ["TWILIO", "GitHub", "slack", "jira", "LINEAR"]) {
      const module = { provider, secret: "s3cret" };
      const strictness = { newest_signature_only: false, sns_topics: [] };
      const shown = { enabled: true, ...module, ...strictness };
      assert.deepEqual(await api.ok("PUT", `${path}/webhook_verification`, module), shown);
      assert.equal((await api.ok("GET", `${path}/webhook_verification`)).provider, provider);
    }
    for (const provider of ["sns", "SNS"]) {
      const module = await api.ok("PUT", `${path}/webhook_verification`, { provider });
      assert.deepEqual([module.provider, module.secret], [provider, ""]);
      const refused = await api.request("PUT", `${path}/webhook_verification`, { body: { provider, secret: "x" } });
      assert.equal(refused.status, 400);
    }
    await api.request("DELETE", `${path}/webhook_verification`);
  });

  it("every field is sent, also when it was never set: null, an empty list or map, or an empty text", async () => {
    const bare = await api.ok("POST", "/edges/https", {});
    const modulesOff = { mutual_tls: null, tls_termination: null };
    const shown = { description: "", metadata: "", hostports: [], capture: null, routes: [], ...modulesOff };
    const { id, uri, created_at, ...rest } = bare;
    assert.deepEqual(rest, shown);
    assert.ok(id && uri && created_at);
    const one = await api.ok("POST", `/edges/https/${id}/routes`, { match_type: "path_prefix", match: "/" });
    const modules = Object.entries(one).filter(([, value]) => value === null);
    assert.equal(modules.length, 18);
    assert.deepEqual([one.description, one.metadata], ["", ""]);
    const page = await api.ok("GET", "/event_subscriptions");
    assert.deepEqual(page, { event_subscriptions: [], uri: `${api.baseUrl}/event_subscriptions`, next_page_uri: null });
  });

  it("a status of zero counts as omitted", async () => {
    const made = await api.ok("POST", "/backends/http_response", { body: "x", status_code: 0 });
    assert.equal(made.status_code, 200);
  });

  it("an HTTPS edge's TLS termination may be stated explicitly, and has no other value", async () => {
    const tls = `/edges/https/${edge.id}/tls_termination`;
    assert.equal((await api.ok("PUT", tls, { terminate_at: "edge", min_version: "1.3" })).terminate_at, "edge");
    const refused = await api.request("PUT", tls, { body: { terminate_at: "upstream" } });
    assert.deepEqual([refused.status, "terminate_at" in refused.body.details], [400, true]);
    assert.equal((await api.ok("PUT", tls, { enabled: false })).min_version, null);
    assert.equal((await api.request("DELETE", tls)).status, 204);
  });

  it("a PATCH may swap one login for another, by null for the old one", async () => {
    const oidc = { issuer: "https://id.example.com", client_id: "a", client_secret: "b" };
    await api.ok("PATCH", path, { oidc });
    const oauth = { provider: { gitlab: { client_id: "a", client_secret: "b" } } };
    assert.equal((await api.request("PATCH", path, { body: { oauth } })).body.error_code, errorCode("login_exclusive"));
    const swapped = await api.ok("PATCH", path, { oauth, oidc: null });
    assert.equal(swapped.oidc, null);
    assert.equal(swapped.oauth.provider.gitlab.client_id, "a");
    const { provider } = swapped.oauth;
    const names = ["amazon", "facebook", "github", "gitlab", "google", "linkedin", "microsoft", "twitch"];
    assert.deepEqual(Object.keys(provider).sort(), names);
    assert.equal(Object.values(provider).filter((one) => one === null).length, 7);
    await api.ok("PATCH", path, { oauth: null });
  });

  it("details of every error are an object of strings, with the operation's id", async () => {
    const answers = [
      await api.request("GET", "/nothing"),
      await api.request("PUT", "/ip_policies"),
      await api.request("GET", "/ip_policies/x"),
      await api.request("POST", "/ip_policies", { body: { description: 1, metadata: [] } }),
      await api.request("GET", "/ip_policies", { key: "unknown" }),
    ];
    for (const { status, body } of answers) {
      assert.equal(body.status_code, status);
      assert.ok(Object.values(body.details).every((value) => typeof value === "string"));
      assert.match(body.details.operation_id, /^op_/);
      assert.ok(typeof body.msg === "string" && body.msg.length > 0);
    }
  });
});
