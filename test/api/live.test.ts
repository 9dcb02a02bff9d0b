import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Log, LogFields } from "../../src/lib/log.ts";
import type { Upward } from "../../src/routing/planes/messages.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

describe("agents that are online", () => {
  let api: TestApi;
  let accountId: string;
  const logged: { readonly event: string; readonly fields: LogFields | undefined }[] = [];
  const log: Log = { ...silentLog, info: (event, fields) => void logged.push({ event, fields }), with: () => log };
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number], { log });
    accountId = (await api.ok("GET", "/accounts")).accounts[0].id;
  });
  after(() => api.stop());
  beforeEach(() => {
    api.edge.answer = undefined;
    api.edge.send({ type: "hello", edgeId: "edge" });
  });

  const id = (prefix: string, count: number) => `${prefix}_${String(count).padStart(27, "0")}`;
  const shared = { credentialId: id("cr", 1), metadata: "m", region: "local", startedAt: "2026-01-01T00:00:00Z" };
  const session = (count: number): Upward => ({
    type: "session_opened",
    session: {
      ...shared,
      accountId,
      id: id("ts", count),
      agentVersion: "3.1.0",
      ip: "192.0.2.7",
      os: "linux",
      transport: "ngrok/2",
    },
  });
  const labelled = (count: number, labels: Record<string, string>): Upward => ({
    type: "tunnel_opened",
    tunnel: {
      ...shared,
      accountId,
      id: id("tn", count),
      sessionId: id("ts", 1),
      forwardsTo: "http://localhost:80",
      labels,
    },
  });

  it("the API shows sessions and tunnels while they are online, newest first", async () => {
    for (const count of [1, 2, 3]) api.edge.send(session(count));
    const endpoint = { id: id("ep", 1), proto: "https", publicUrl: "https://shop.postern.test:8443" } as const;
    const base = labelled(1, {}) as Extract<Upward, { type: "tunnel_opened" }>;
    const { labels: _, ...tunnel } = base.tunnel;
    api.edge.send({ type: "tunnel_opened", tunnel: { ...tunnel, endpoint } });
    const first = await api.ok("GET", "/tunnel_sessions?limit=2");
    assert.deepEqual(
      first.tunnel_sessions.map((one: Body) => one.id),
      [id("ts", 3), id("ts", 2)],
    );
    const rest = await api.ok("GET", first.next_page_uri.slice(api.baseUrl.length));
    assert.deepEqual([rest.tunnel_sessions.length, rest.next_page_uri], [1, null]);
    const shown = await api.ok("GET", `/tunnels/${id("tn", 1)}`);
    assert.deepEqual(shown.endpoint, { id: id("ep", 1), uri: `${api.baseUrl}/endpoints/${id("ep", 1)}` });
    assert.deepEqual(
      [shown.public_url, shown.proto, shown.labels, shown.metadata],
      [endpoint.publicUrl, "https", {}, "m"],
    );
    const seen = await api.ok("GET", `/endpoints/${id("ep", 1)}`);
    assert.deepEqual([seen.host, seen.port, seen.type], ["shop.postern.test", 8443, "ephemeral"]);
    api.edge.send({ type: "tunnel_closed", tunnelId: id("tn", 1) });
    assert.equal((await api.request("GET", `/tunnels/${id("tn", 1)}`)).status, 404);
    assert.equal((await api.request("GET", `/endpoints/${id("ep", 1)}`)).status, 404);
    api.edge.send({ type: "session_closed", sessionId: id("ts", 3) });
    assert.equal((await api.ok("GET", "/tunnel_sessions")).tunnel_sessions.length, 2);
  });

  it("P7: the API changes an ETag when an agent changes the answer, and does not disturb writers", async () => {
    const made = await api.request("POST", "/backends/tunnel_group", { body: { labels: { app: "etag" } } });
    const path = `/backends/tunnel_group/${made.body.id}`;
    const etag = async () => (await api.request("GET", path)).headers["etag"] as string;
    const idle = await etag();
    assert.equal(idle, made.headers["etag"]);
    api.edge.send(labelled(9, { app: "etag" }));
    const online = await etag();
    assert.notEqual(online, idle);
    assert.equal(await etag(), online);
    const change = (description: string, tag: string) =>
      api.request("PATCH", path, { body: { description }, headers: { "if-match": tag } });
    const changed = await change("by who saw it idle", idle);
    assert.equal(changed.status, 200, changed.text);
    assert.equal((await change("by who missed that", online)).status, 412);
    assert.equal((await change("by who saw all", changed.headers["etag"] as string)).status, 200);
  });

  it("the API matches a tunnel with every backend whose labels it has all of, both ways", async () => {
    const exact = await api.ok("POST", "/backends/tunnel_group", { labels: { app: "x", dc: "eu" } });
    const wider = await api.ok("POST", "/backends/tunnel_group", { labels: { app: "x" } });
    const other = await api.ok("POST", "/backends/tunnel_group", { labels: { app: "x", dc: "us" } });
    api.edge.send(labelled(1, { app: "x", dc: "eu", extra: "1" }));
    api.edge.send(labelled(2, { app: "x" }));
    const tunnelsOf = async ({ id }: Body) =>
      (await api.ok("GET", `/backends/tunnel_group/${id}`)).tunnels.map((one: Body) => one.id);
    assert.deepEqual(await tunnelsOf(exact), [id("tn", 1)]);
    assert.deepEqual(await tunnelsOf(wider), [id("tn", 1), id("tn", 2)]);
    assert.deepEqual(await tunnelsOf(other), []);
    const backends = (await api.ok("GET", `/tunnels/${id("tn", 1)}`)).backends.map((one: Body) => one.id);
    assert.deepEqual(backends, [exact.id, wider.id]);
    await api.ok("PATCH", `/backends/tunnel_group/${other.id}`, { labels: { dc: "eu" } });
    assert.deepEqual(await tunnelsOf(other), [id("tn", 1)]);
    await api.ok("DELETE", `/backends/tunnel_group/${wider.id}`);
    assert.equal((await api.ok("GET", `/tunnels/${id("tn", 1)}`)).backends.length, 2);
  });

  it("the API shows an edge as an endpoint while a backend of it is online", async () => {
    const backend = await api.ok("POST", "/backends/tunnel_group", { labels: { app: "edge" } });
    const nested = await api.ok("POST", "/backends/failover", { backends: [backend.id] });
    const edge = await api.ok("POST", "/edges/https", { hostports: ["live.example.com:443"] });
    const body = { match_type: "path_prefix", match: "/", backend: { backend_id: nested.id } };
    await api.ok("POST", `/edges/https/${edge.id}/routes`, body);
    assert.deepEqual((await api.ok("GET", "/endpoints")).endpoints, []);
    api.edge.send(labelled(1, { app: "edge" }));
    const [found] = (await api.ok("GET", "/endpoints")).endpoints;
    assert.deepEqual([found.type, found.edge.id, found.public_url], ["edge", edge.id, "https://live.example.com"]);
    assert.deepEqual(await api.ok("GET", `/endpoints/${found.id}`), found);
    assert.equal(found.domain.uri.startsWith(`${api.baseUrl}/reserved_domains/rd_`), true);
  });

  it("the API refuses a hostport that an agent holds", async () => {
    const endpoint = { id: id("ep", 9), proto: "https", publicUrl: "https://agent.example.com" } as const;
    const base = labelled(9, {}) as Extract<Upward, { type: "tunnel_opened" }>;
    const { labels: _, ...tunnel } = base.tunnel;
    api.edge.send({ type: "tunnel_opened", tunnel: { ...tunnel, endpoint } });
    const refused = await api.request("POST", "/edges/https", { body: { hostports: ["agent.example.com:443"] } });
    assert.equal(refused.status, 409);
    assert.equal(refused.body.details.holder_uri, `${api.baseUrl}/tunnels/${id("tn", 9)}`);
  });

  it("the API sends commands to the agent and reports the result", async () => {
    api.edge.send(session(1));
    const path = `/tunnel_sessions/${id("ts", 1)}`;
    api.edge.answer = (message) =>
      message.type === "command" ? { type: "command_result", call: message.call } : undefined;
    assert.equal((await api.request("POST", `${path}/restart`)).status, 204);
    const raw = { body: id("ts", 1), headers: { "content-type": "application/json" } };
    assert.equal((await api.request("POST", `${path}/stop`, raw)).status, 204);
    assert.equal((await api.request("POST", `${path}/update`, { body: { version: "3.2.0" } })).status, 204);
    const commands = api.edge.received.flatMap((one) => (one.type === "command" ? [one.command] : []));
    assert.deepEqual(commands, [{ name: "restart" }, { name: "stop" }, { name: "update", version: "3.2.0" }]);
    const lines = logged.flatMap(({ event, fields }) => (event === "command sent to an agent" ? [fields] : []));
    const { keys } = await api.ok("GET", "/api_keys");
    const sent = { session: id("ts", 1), account: accountId, by: keys.at(-1).id };
    assert.deepEqual(
      lines,
      ["restart", "stop", "update"].map((command) => ({ command, ...sent })),
    );
    api.edge.answer = (message) =>
      message.type === "command"
        ? { type: "command_result", call: message.call, error: { reason: "command_unsupported", message: "too old" } }
        : undefined;
    const refused = await api.request("POST", `${path}/restart`);
    assert.deepEqual([refused.status, refused.body.error_code], [400, errorCode("command_unsupported")]);
    assert.match(refused.body.msg, /too old/);
  });

  it("the API discards everything when an edge restarts", async () => {
    api.edge.send(session(1));
    api.edge.send(labelled(1, { app: "gone" }));
    api.edge.send({ type: "hello", edgeId: "edge" });
    assert.deepEqual((await api.ok("GET", "/tunnel_sessions")).tunnel_sessions, []);
    assert.deepEqual((await api.ok("GET", "/tunnels")).tunnels, []);
  });
});
