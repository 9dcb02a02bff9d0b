/** Traffic in the API: finished requests, and dry runs, over the whole platform. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { portIs, visit } from "../support/connections.ts";
import { startPlatform } from "../support/platform.ts";
import type { ApiBody, TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

let platform: TestPlatform;
let upstream: HttpService;
let otherKey: string;
let edge: ApiBody;
let route: ApiBody;
let rule: ApiBody;
let backend: ApiBody;

async function made(method: string, path: string, body?: unknown): Promise<ApiBody> {
  const answer = await platform.api(method, path, body);
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
}

before(async () => {
  platform = await startPlatform();
  upstream = await startHttpService((_request, response) => response.end("served"));
  await platform.startAgent({ upstream: upstream.port, labels: { app: "shop" } });
  otherKey = (await made("POST", "/accounts", { name: "other" })).api_key;
  backend = await made("POST", "/backends/tunnel_group", { labels: { app: "shop" } });
  const policy = await made("POST", "/ip_policies", {});
  rule = await made("POST", "/ip_policy_rules", { ip_policy_id: policy.id, cidr: "127.0.0.0/8", action: "allow" });
  edge = await made("POST", "/edges/https", { hostports: [`shop.localhost:${platform.publicHttpsPort}`] });
  route = await made("POST", `/edges/https/${edge.id}/routes`, {
    match_type: "path_prefix",
    match: "/admin",
    backend: { backend_id: backend.id },
    ip_restriction: { ip_policy_ids: [policy.id] },
    user_agent_filter: { allow: [], deny: ["bad"] },
  });
});
after(async () => {
  await platform.stop();
  await upstream.stop();
});

const url = (path: string): string => `https://shop.localhost:${platform.publicHttpsPort}${path}`;

describe("the requests that have ended", () => {
  it("finished requests are filtered by the server, over all pages, and the next page keeps the filter", async () => {
    for (let at = 0; at < 3; at += 1)
      await platform.request(url(`/admin/found-${at}`), { headers: { "user-agent": "bad" } });
    for (let at = 0; at < 4; at += 1) await platform.request(url(`/other-${at}`));
    const list = (query: string) => platform.api("GET", `/requests?${query}`);
    const { body } = await list("outcome=denied&text=FOUND-&limit=2");
    const paths = (page: ApiBody): string[] => page.requests.map(({ path }: { path: string }) => path);
    assert.deepEqual(paths(body), ["/admin/found-2", "/admin/found-1"]);
    const next = new URL(body.next_page_uri);
    assert.deepEqual(paths((await list(next.search.slice(1))).body), ["/admin/found-0"]);
    assert.deepEqual(paths((await list("outcome=forwarded&text=found-")).body), []);
    assert.equal((await list("text=404&limit=1")).body.requests.length, 1);
    for (const wrong of ["outcome=lost", "text=", `text=${"x".repeat(256)}`])
      assert.equal((await list(wrong)).status, 400);
  });

  it("finished requests show why a visitor was denied, who only sees the code and the id", async () => {
    for (const http of ["h1", "h2"] as const) {
      const denied = await platform.request(url("/admin/x?secret"), { http, headers: { "user-agent": "bad bot" } });
      assert.equal(denied.status, 403);
      const id = String(denied.headers["x-request-id"]);
      assert.equal(JSON.parse(denied.text).details.request_id, id);
      assert.doesNotMatch(denied.text, /ipr_|edghtsrt_|allowed by/);
      const { body } = await platform.api("GET", `/requests/${id}`);
      assert.equal(body.id, id);
      assert.equal(body.uri, `${platform.apiUrl}/requests/${id}`);
      assert.deepEqual([body.method, body.host, body.path], ["GET", "shop.localhost", "/admin/x"]);
      assert.deepEqual(
        [body.outcome, body.status_code, body.error_code, body.upstream_ms, body.tunnel],
        ["denied", 403, errorCode("user_agent_denied"), null, null],
      );
      assert.deepEqual([body.site_id, body.route_id, body.source_ip], [edge.id, route.id, "127.0.0.1"]);
      assert.deepEqual(
        body.steps.map((step: ApiBody) => [step.by, step.outcome]),
        [
          ["router", "passed"],
          ["ip_restriction", "passed"],
          ["user_agent_filter", "denied"],
        ],
      );
      assert.equal(body.steps[1].decided_by.id, rule.id);
      assert.equal(typeof body.steps[1].decided_by.revision, "number");
    }
  });

  it("finished requests include forwarded ones, with the selected backend and tunnel", async () => {
    const [online] = (await platform.api("GET", "/tunnels")).body.tunnels;
    for (const http of ["h1", "h2"] as const) {
      const answer = await platform.request(url("/admin"), { http, headers: { "user-agent": "good" } });
      assert.equal(answer.status, 200);
      const { body } = await platform.api("GET", `/requests/${String(answer.headers["x-request-id"])}`);
      assert.equal(body.outcome, "forwarded");
      assert.equal(body.bytes_out, 6);
      assert.ok(body.upstream_ms > 0 && body.upstream_ms <= body.duration_ms, JSON.stringify(body));
      const last = body.steps.at(-1);
      assert.equal(last.decided_by.id, backend.id);
      assert.match(last.reason, /through tunnel tn_/);
      const { id, tunnel_session, forwards_to } = online;
      assert.deepEqual(body.tunnel, { id, tunnel_session_id: tunnel_session.id, forwards_to });
    }
  });

  it("finished requests are listed newest first, in pages", async () => {
    for (let count = 0; count < 3; count += 1) await platform.request(url("/none"));
    const first = (await platform.api("GET", "/requests?limit=2")).body;
    assert.equal(first.requests.length, 2);
    assert.ok(first.requests[0].id > first.requests[1].id);
    assert.equal(first.requests[0].outcome, "denied");
    const next = (
      await platform.api("GET", new URL(first.next_page_uri).pathname + new URL(first.next_page_uri).search)
    ).body;
    assert.ok(next.requests[0].id < first.requests[1].id);
  });

  it("finished connections are listed too, with the reason that their clients do not see", async () => {
    const policy = await made("POST", "/ip_policies", {});
    const address = await made("POST", "/reserved_addrs", {});
    const port = Number(address.addr.split(":")[1]);
    const blocks = { backend: { backend_id: backend.id }, ip_restriction: { ip_policy_ids: [policy.id] } };
    const tcp = await made("POST", "/edges/tcp", { hostports: [address.addr], ...blocks });
    await portIs("open", port);
    assert.deepEqual(await visit(port), { text: "", error: undefined });
    const { connections } = (await platform.api("GET", "/connections?limit=1")).body;
    const { body } = await platform.api("GET", `/connections/${connections[0].id}`);
    assert.deepEqual(body, connections[0]);
    assert.equal(body.uri, `${platform.apiUrl}/connections/${body.id}`);
    assert.deepEqual(
      [body.outcome, body.protocol, body.site_id, body.source_ip],
      ["denied", "tcp", tcp.id, "127.0.0.1"],
    );
    assert.equal(body.error_code, errorCode("source_denied"));
    assert.deepEqual(
      body.steps.map((step: ApiBody) => [step.by, step.outcome]),
      [["ip_restriction", "denied"]],
    );
    assert.equal((await platform.api("GET", `/connections/${body.id}`, undefined, otherKey)).status, 404);
    assert.deepEqual((await platform.api("GET", "/connections", undefined, otherKey)).body.connections, []);
    await made("DELETE", `/edges/tcp/${tcp.id}`);
  });

  it("P1: the requests that have ended are those of the key's account alone", async () => {
    const answer = await platform.request(url("/none"));
    const id = String(answer.headers["x-request-id"]);
    assert.equal((await platform.api("GET", `/requests/${id}`, undefined, otherKey)).status, 404);
    assert.deepEqual((await platform.api("GET", "/requests", undefined, otherKey)).body.requests, []);
    assert.equal((await platform.api("GET", "/requests/req_none")).body.error_code, errorCode("not_found"));
  });
});

describe("explain", () => {
  const explain = (body: object, key?: string) => platform.api("POST", `/edges/https/${edge.id}/explain`, body, key);

  it("explain reports what would happen, and why, and leaves no trace", async () => {
    const listed = (await platform.api("GET", "/requests")).body.requests.length;
    const { body, status } = await explain({
      url: url("/admin/y"),
      headers: { "user-agent": "good" },
      source_ip: "127.0.0.9",
    });
    assert.equal(status, 200);
    assert.deepEqual([body.outcome, body.status_code, body.error_code], ["forwarded", null, null]);
    assert.equal(body.edge.id, edge.id);
    assert.equal(body.route.id, route.id);
    assert.equal(body.backend.id, backend.id);
    assert.match(body.tunnel.forwards_to, new RegExp(`:${upstream.port}$`));
    const sent = Object.fromEntries(body.request_headers.map((one: ApiBody) => [one.name, one.value]));
    assert.equal(sent["x-forwarded-for"], "127.0.0.9");
    const denied = (await explain({ path: "/admin", source_ip: "::ffff:192.0.2.1" })).body;
    assert.deepEqual(
      [denied.outcome, denied.status_code, denied.error_code],
      ["denied", 403, errorCode("source_denied")],
    );
    assert.equal(denied.tunnel, null);
    const near = (await explain({ path: "/administrator" })).body;
    assert.equal(near.outcome, "denied");
    assert.equal(near.near_routes[0].id, route.id);
    assert.match(near.near_routes[0].reason, /within a segment/);
    assert.equal((await platform.api("GET", "/requests")).body.requests.length, listed);
  });

  it("explain shows the effect of response rules", async () => {
    await made("PUT", `/edges/https/${edge.id}/routes/${route.id}/compression`, { enabled: true });
    const response = { status_code: 200, headers: { "content-type": "text/html" } };
    const headers = { "user-agent": "good", "accept-encoding": "br" };
    const { body } = await explain({ path: "/admin", headers, response });
    assert.deepEqual(
      body.response.headers.filter((one: ApiBody) => one.name === "content-encoding"),
      [{ name: "content-encoding", value: "br" }],
    );
  });

  it("explain refuses input that is not a request to this edge", async () => {
    assert.match((await explain({ url: "https://elsewhere.example/" })).body.details.url, /must lead to this edge/);
    for (const bad of [
      { url: "http://shop.localhost/" },
      { url: url("/"), path: "/" },
      { method: "GET /" },
      { headers: { "a b": "c" } },
      { headers: { a: "b\r\nc: d" } },
      { source_ip: "localhost" },
      { unheard: 1 },
    ]) {
      assert.equal((await explain(bad)).status, 400, JSON.stringify(bad));
    }
    const refused = (await explain({ headers: { "transfer-encoding": "gzip" } })).body;
    assert.deepEqual([refused.status_code, refused.error_code], [400, errorCode("bad_request")]);
  });

  it("P1: explain is for the edges of the key's account", async () => {
    assert.equal((await explain({}, otherKey)).status, 404);
  });

  it("explain explains connections to TLS and TCP edges", async () => {
    const policy = await made("POST", "/ip_policies", {});
    await made("POST", "/ip_policy_rules", { ip_policy_id: policy.id, cidr: "192.0.2.0/24", action: "allow" });
    const blocks = { backend: { backend_id: backend.id }, ip_restriction: { ip_policy_ids: [policy.id] } };
    const tls = await made("POST", "/edges/tls", { hostports: ["tls.localhost:443"], ...blocks });
    const address = await made("POST", "/reserved_addrs", {});
    const tcp = await made("POST", "/edges/tcp", { hostports: [address.addr], ...blocks });
    for (const path of [`/edges/tls/${tls.id}`, `/edges/tcp/${tcp.id}`]) {
      const { body } = await platform.api("POST", `${path}/explain`, { source_ip: "192.0.2.7" });
      assert.equal(body.outcome, "forwarded", path);
      assert.equal(body.backend.id, backend.id);
      const other = await platform.api("POST", `${path}/explain`, { source_ip: "192.0.3.7" });
      assert.deepEqual([other.body.outcome, other.body.error_code], ["denied", errorCode("source_denied")]);
      assert.equal((await platform.api("POST", `${path}/explain`, {}, otherKey)).status, 404);
    }
  });
});
