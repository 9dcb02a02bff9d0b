/** Servers on one database for visitors, agents and API callers: an agent's URLs work at every server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect as connectTcp, createServer } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import type { TunnelStatus } from "../../src/agent/tunnel-options.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { startCommitProxy } from "../storage/commit-proxy.ts";
import { protocols } from "../support/http-client.ts";
import { keeping } from "../support/keeping-agent.ts";
import { startNode } from "../support/nodes.ts";
import type { NodeReply, ServerNode } from "../support/nodes.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { startHttpService, startTcpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { accepting } from "../support/upgraded.ts";

const postgres = databases.find(({ name }) => name === "postgres");

/** One session, as in an SDK. */
const single = { connections: 1 } as const;

/** Address of the server's listeners at tunnel ports, which are the same at all servers. */
const tcpHost = (at: number): string => `127.0.0.${at + 2}`;
/** More data than the windows of streams between servers hold. */
const bulk = Buffer.alloc(3_000_000, "crossing ");

/** Returns the echo of `bulk`. */
async function echoed(socket: Socket): Promise<Buffer> {
  socket.write(bulk);
  const chunks: Buffer[] = [];
  let length = 0;
  while (length < bulk.length) {
    const [chunk] = (await once(socket, "data")) as [Buffer];
    chunks.push(chunk);
    length += chunk.length;
  }
  socket.destroy();
  return Buffer.concat(chunks);
}

describe("servers on one database", { skip: skipWithoutPostgres }, () => {
  let place: Awaited<ReturnType<NonNullable<typeof postgres>["create"]>>;
  let nodes: readonly [ServerNode, ServerNode, ServerNode];
  let service: HttpService;

  const idsAt = async (node: ServerNode, path: string): Promise<readonly unknown[]> => {
    const { body } = await node.call("GET", `/${path}`);
    return (body[path] as readonly { readonly id: string }[]).map(({ id }) => id).toSorted();
  };
  /** Returns the node's first response from the service. Retries while no agent serves the URL there. */
  const answered = async (node: ServerNode, host: string): Promise<string> => {
    for (;;) {
      const answer = await node.ask("h1", { host }).catch(() => undefined);
      if (answer?.status === 200) return answer.text;
      await new Promise((resume) => setTimeout(resume, 10));
    }
  };

  before(async () => {
    place = await (postgres as NonNullable<typeof postgres>).create();
    // Each server has separate addresses for the other nodes and for ports. One has two edges.
    const start = (at: number) =>
      startNode(place.url, {
        POSTERN_PEER_LISTEN: `127.0.0.${at + 2}:0`,
        POSTERN_TCP_BIND: tcpHost(at),
        POSTERN_EDGES: at === 2 ? "2" : "1",
      });
    nodes = await Promise.all([start(0), start(1), start(2)]);
    service = await startHttpService((request, response) => response.end(`seen by ${request.headers.host}`));
  });
  after(async () => {
    await Promise.all(nodes.map((node) => node.end()));
    await service.stop();
    await place.drop();
  });

  for (const http of protocols) {
    it(`servers on one database: a visitor of one reaches an agent of another over ${http} as soon as the agent is online`, async () => {
      const host = `across-${http}.example.com`;
      const agent = await nodes[0].agent({ upstream: service.port, url: `https://${host}`, agent: single });
      for (const node of nodes) {
        const answer = await node.ask(http, { host });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.text, `seen by ${host}`);
      }
      await agent.close();
      await nodes[1].until("/tunnels", ({ body }) => (body["tunnels"] as readonly unknown[]).length === 0);
      await assert.rejects(nodes[1].ask(http, { host }), { code: "ERR_SSL_TLSV1_UNRECOGNIZED_NAME" });
    });
  }

  it("servers on one database: a WebSocket at one carries bytes both ways to an agent of another", async () => {
    const host = "socket.example.com";
    const next = accepting(service.server);
    const agent = await nodes[0].agent({ upstream: service.port, url: `https://${host}`, agent: single });
    for (const { httpsPort: port, agents } of nodes) {
      const socket = connectTls({ port, host: "127.0.0.1", servername: host, ca: agents.ca });
      socket.write(
        `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
      );
      const [head] = (await once(socket, "data")) as [Buffer];
      assert.match(head.toString(), /^HTTP\/1\.1 101 /);
      const serving = await next();
      serving.pipe(serving);
      assert.ok(bulk.equals(await echoed(socket)));
    }
    await agent.close();
  });

  it("servers on one database: TLS and TCP at one reach the service of another's agent unchanged", async () => {
    const host = "whole.example.com";
    const authority = await createAuthority({ commonName: "The service's own", now: Date.now() });
    const leaf = await issueLeaf(authority, { names: [host], days: 1, now: Date.now() });
    const serve = (socket: Socket): void => void socket.pipe(socket).on("error", () => undefined);
    const secure = await startTcpService(serve, { key: leaf.keyPem, cert: leaf.certificatePem });
    const plain = await startTcpService(serve);
    const tls = await nodes[0].agent({
      upstream: secure.port,
      url: `tls://${host}`,
      agent: single,
      tunnel: { proto: "tls" },
    });
    const tcp = await nodes[0].agent({ upstream: plain.port, agent: single, tunnel: { proto: "tcp" } });
    const tcpPort = Number(new URL(tcp.url).port);
    for (const [at, { httpsPort: port }] of nodes.entries()) {
      const whole = connectTls({ port, host: "127.0.0.1", servername: host, ca: authority.certificatePem });
      assert.ok(bulk.equals(await echoed(whole)));
      assert.ok(bulk.equals(await echoed(connectTcp(tcpPort, tcpHost(at)))));
    }
    for (const agent of [tls, tcp]) await agent.close();
    for (const one of [secure, plain]) await one.stop();
  });

  it("servers on one database: a port that is taken on the machine of one is assigned by none", async () => {
    const upstream = service.port;
    const published = async (at: number): Promise<{ readonly agent: OurAgent; readonly port: number }> => {
      const node = nodes[at] as ServerNode;
      for (;;) {
        const agent = await node.agent({ upstream, agent: single, tunnel: { proto: "tcp" } }).catch(() => undefined);
        if (agent) return { agent, port: Number(new URL(agent.url).port) };
      }
    };
    const before = await published(0);
    await before.agent.close();
    const other = createServer();
    const taken = async (): Promise<boolean> => {
      other.listen(before.port, tcpHost(1));
      return await once(other, "listening").then(
        () => true,
        () => false,
      );
    };
    while (!(await taken()));
    const beside = await published(1);
    assert.notEqual(beside.port, before.port);
    await beside.agent.close();
    const after = await published(0);
    assert.notEqual(after.port, before.port);
    await after.agent.close();
    other.close();
  });

  it("servers on one database return the same agents, and each reports what happened at another", async () => {
    const host = "shown.example.com";
    const agent = await nodes[0].agent({ upstream: service.port, url: `https://${host}`, agent: single });
    for (const path of ["tunnels", "tunnel_sessions", "endpoints"]) {
      const shown = await Promise.all(nodes.map((node) => idsAt(node, path)));
      assert.equal(shown[0]?.length, 1, path);
      assert.deepEqual(shown, [shown[0], shown[0], shown[0]]);
    }
    // Nodes exchange their state every few seconds. Wait until earlier agents are removed and all nodes have sent their
    // addresses.
    const reply = await nodes[2].until("/nodes", ({ body }) => {
      const told = body["nodes"] as readonly { readonly agents: number; readonly peer_address: string | null }[];
      const counts = told.map(({ agents }) => agents).toSorted((one, other) => one - other);
      return counts.join() === "0,0,1" && told.every(({ peer_address: at }) => at !== null);
    });
    const all = reply.body["nodes"] as readonly Record<string, unknown>[];
    const [, , last] = all.map(({ peer_address: at }) => String(at)).toSorted();
    assert.match(last ?? "", /^127\.0\.0\.4:\d+, 127\.0\.0\.4:\d+$/);
    const denied = await nodes[1].ask("h1", { host, method: "TRACE" });
    assert.notEqual(denied.status, 200);
    const [endpointId] = await idsAt(nodes[2], "endpoints");
    const listed = await nodes[2].call("GET", "/requests");
    const [request] = listed.body["requests"] as readonly { readonly id: string; readonly host: string }[];
    assert.equal(request?.host, host, listed.text);
    const described = { url: `https://${host}/`, method: "GET" };
    for (const node of nodes) {
      const found = await node.call("GET", `/requests/${request?.id}`);
      assert.equal(found.status, 200, found.text);
      const explained = await node.call("POST", `/endpoints/${String(endpointId)}/explain`, described);
      assert.equal(explained.status, 200, explained.text);
      assert.match(explained.text, /"outcome":"forwarded"/);
    }
    await agent.close();
  });

  it("servers on one database: a command for an agent of one works at any", async () => {
    const agent = await nodes[0].agent({ upstream: service.port, url: "https://told.example.com", agent: single });
    const [sessionId, ...others] = await idsAt(nodes[2], "tunnel_sessions");
    assert.deepEqual(others, []);
    const pulse = await nodes[1].call("GET", `/tunnel_sessions/${String(sessionId)}/pulse`);
    assert.equal(pulse.status, 200, pulse.text);
    assert.match(pulse.text, /^\{"latency_ms":[0-9.]+,"heard_at":"[0-9T:-]+Z"\}$/);
    const stopped = await nodes[2].call("POST", `/tunnel_sessions/${String(sessionId)}/stop`, {});
    assert.equal(stopped.status, 204, stopped.text);
    assert.equal((await agent.ended).reason, "stopped");
  });

  it("servers on one database: a request stored by an agent of one is returned and replayed by any", async () => {
    const kept = await keeping({ upstream: service.port, url: "https://kept.example.com", agent: single });
    const agent = await nodes[0].agent(kept);
    for (const [at, http] of [
      [0, "h1"],
      [1, "h2"],
      [2, "h1"],
    ] as const) {
      // Each request goes to one node, and the next node is asked for it.
      await answered(nodes[at], "kept.example.com");
      const { headers } = await nodes[at].ask(http, { host: "kept.example.com", path: "/kept?q=1" });
      const id = String(headers["x-request-id"]);
      const other = nodes[(at + 1) % 3] as ServerNode;
      const told = await other.call("GET", `/requests/${id}/exchange`);
      assert.equal(told.status, 200, told.text);
      const { request, response } = told.body as { request: { target: string }; response: { status_code: number } };
      assert.deepEqual([request.target, response.status_code], ["/kept?q=1", 200]);
      const again = { "idempotency-key": "nodes" };
      const sent = await Promise.all(nodes.map((node) => node.call("POST", `/requests/${id}/replay`, {}, again)));
      assert.deepEqual(new Set(sent.map(({ status }) => status)), new Set([200]), sent[0]?.text ?? "");
      assert.equal(new Set(sent.map(({ body }) => body["exchange_id"])).size, 1);
    }
    await agent.close();
  });

  it("servers on one database: a write that waits is in effect at all of them, or names the servers that lag behind", async () => {
    const wait = { prefer: "wait=10" };
    const made = await nodes[0].call("POST", "/ip_policies", { description: "waited for" }, wait);
    assert.equal(made.headers.get("postern-applied"), "true", made.text);
    for (const node of nodes) {
      assert.match(
        (await node.call("GET", "/metrics")).text,
        new RegExp(`^postern_revision_applied ${(made.etag ?? "").replaceAll(/\D/g, "")}$`, "m"),
      );
    }
    process.kill(nodes[1].pid, "SIGSTOP");
    try {
      const late = await nodes[0].call("POST", "/ip_policies", { description: "not waited for" }, { prefer: "wait=1" });
      assert.equal(late.status, 201);
      assert.equal(late.headers.get("postern-applied"), "false");
      assert.match(late.headers.get("postern-edges-behind") ?? "", /^edge_\w+$/);
    } finally {
      process.kill(nodes[1].pid, "SIGCONT");
    }
    const again = await nodes[2].call("POST", "/ip_policies", { description: "again" }, wait);
    assert.equal(again.headers.get("postern-applied"), "true");
  });

  it("servers on one database give a URL to a single agent, and its next run gets it when no agent holds it any more", async () => {
    const url = "https://held.example.com";
    const agent = await nodes[0].agent({ upstream: service.port, url, agent: single });
    await assert.rejects(
      nodes[1].agent({ upstream: service.port, url, agent: single }),
      new RegExp(`held.example.com.*serves it`),
    );
    assert.equal(await answered(nodes[2], "held.example.com"), "seen by held.example.com");
    await agent.close();
    const next = await nodes[1].agent({ upstream: service.port, url, agent: single });
    assert.equal((await nodes[2].ask("h1", { host: "held.example.com" })).status, 200);
    await next.close();
  });

  it("servers on one database: tunnels with the same label at several serve a backend together", async () => {
    const labels = { app: "shared" };
    const agents = await Promise.all(
      [0, 1].map((at) => (nodes[at] as ServerNode).agent({ upstream: service.port, labels, agent: single })),
    );
    const made = async (path: string, body: unknown): Promise<string> => {
      const reply: NodeReply = await nodes[0].call("POST", path, body, { prefer: "wait=10" });
      assert.equal(reply.status, 201, reply.text);
      return String(reply.body["id"]);
    };
    const backend = await made("/backends/tunnel_group", { labels });
    const edge = await made("/edges/https", { hostports: ["group.example.com:443"] });
    await made(`/edges/https/${edge}/routes`, {
      match_type: "path_prefix",
      match: "/",
      backend: { enabled: true, backend_id: backend },
    });
    for (const node of nodes) assert.equal((await node.ask("h2", { host: "group.example.com" })).status, 200);
    await agents[0]?.close();
    // New requests reach the other tunnel, at any node.
    for (const node of nodes) assert.equal((await node.ask("h1", { host: "group.example.com" })).status, 200);
    await agents[1]?.close();
    await nodes[0].call("DELETE", `/edges/https/${edge}`);
  });

  it("servers on one database: one that loses the database continues with its configuration, and its agents wait for new names", async () => {
    const directory = mkdtempSync(join(tmpdir(), "postern-cut-"));
    let proxy = await startCommitProxy(place.url, directory);
    const cut = await startNode(proxy.url);
    const had = await cut.agent({ upstream: service.port, url: "https://had.example.com", agent: single });
    const far = await nodes[0].agent({ upstream: service.port, url: "https://far.example.com", agent: single });
    await proxy.stop();
    for (const host of ["had.example.com", "far.example.com"]) {
      assert.equal((await cut.ask("h1", { host })).status, 200);
    }
    const statuses: TunnelStatus[] = [];
    const wants = await cut.agent({
      upstream: service.port,
      url: "https://wanted.example.com",
      offline: true,
      agent: single,
      tunnel: { status: (status) => void statuses.push(status) },
    });
    await cut.until("/readyz", ({ text }) => text.includes("lease has expired"));
    proxy = await startCommitProxy(place.url, directory);
    assert.equal(await answered(nodes[0], "wanted.example.com"), "seen by wanted.example.com");
    assert.ok(
      statuses.some(
        (status) => status.state === "waiting" && status.reason.includes("cannot confirm that the name is free"),
      ),
    );
    assert.equal(await answered(nodes[1], "had.example.com"), "seen by had.example.com");
    assert.match(cut.stderr(), /lease has expired/);
    for (const agent of [wants, had, far]) await agent.close();
    await cut.end();
    await proxy.stop();
    rmSync(directory, { recursive: true });
  });

  it("servers on one database: the agents of a killed server move to another with the same URLs, and visitors of all reach them", async () => {
    const doomed = await startNode(place.url);
    const host = "moves.example.com";
    const otherServers = [{ host: "127.0.0.1", port: nodes[1].agents.port }];
    const agent = await doomed.agent({
      upstream: service.port,
      url: `https://${host}`,
      agent: { otherServers, ...single },
    });
    assert.equal(await answered(nodes[0], host), `seen by ${host}`);
    const usual = await doomed.agent({
      upstream: service.port,
      url: "https://twice.example.com",
      agent: { otherServers },
    });
    const shown = await nodes[0].until("/tunnels", ({ body }) => (body["tunnels"] as readonly unknown[]).length === 3);
    assert.equal(shown.status, 200);
    await doomed.end("SIGKILL");
    // Its other session continues to serve.
    assert.equal(await answered(nodes[0], "twice.example.com"), "seen by twice.example.com");
    await agent.online(2);
    for (const node of nodes) assert.equal(await answered(node, host), `seen by ${host}`);
    await agent.close();
    await usual.close();
  });
});
