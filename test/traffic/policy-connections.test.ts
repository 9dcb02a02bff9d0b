/** Policies of TCP and TLS edges, and of internal endpoints and agents, on raw connections. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { freePort, visit } from "../support/connections.ts";
import { connectionEdge } from "../support/objects.ts";
import { startTcpService } from "../support/services.ts";
import type { TcpService } from "../support/services.ts";
import { connectAgent } from "../support/agents.ts";
import { protocols } from "../support/http-client.ts";
import type { TestAgent } from "../support/agents.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";

let fixture: EdgeWithAgent;
let service: TcpService;
let agent: TestAgent;
let port: number;

before(async () => {
  port = await freePort();
  fixture = await startEdgeWithAgent({ tcpBind: "127.0.0.1" });
  service = await startTcpService((socket) => socket.end("hello"));
  agent = await connectAgent(fixture.edge, fixture.token, service.port, false);
  await agent.label({ app: "db" });
  const types = ["tcp_connection_closed.v0", "http_request_complete.v0"] as const;
  fixture.edge.send({ type: "traffic_wanted", wanted: [{ accountId: "ac_1", types }] });
});
after(async () => {
  agent.close();
  await service.stop();
  await fixture.stop();
});

function edge(policy: object): void {
  const traffic_policy = { enabled: true, value: JSON.stringify(policy) };
  for (const one of connectionEdge("tcp_edge", "db", [`db.example.com:${port}`], { traffic_policy })) {
    fixture.put(one.kind, one.id, one.doc);
  }
}

const only = (cidr: string) => ({
  on_tcp_connect: [
    {
      actions: [
        { type: "log", config: { metadata: { who: "${conn.client_ip}", deep: { port: "${conn.server_port}" } } } },
        { type: "restrict-ips", config: { deny: [cidr], allow: ["0.0.0.0/0", "::/0"] } },
      ],
    },
  ],
});

describe("a policy of a TCP edge", { timeout: 30_000 }, () => {
  it("a policy of a TCP edge closes connections, and its log entries are in their event", async () => {
    edge(only("127.0.0.0/8"));
    const { text } = await visit(port);
    assert.equal(text, "");
    const report = await fixture.edge.report(
      (message) => message.type === "traffic" && message.reports.some((one) => "logs" in one && one.logs.length > 0),
    );
    assert.ok(report.type === "traffic");
    const told = report.reports.find(({ type }) => type === "tcp_connection_closed.v0");
    assert.ok(told && "logs" in told);
    assert.deepEqual(told.logs, [{ who: "127.0.0.1", deep: { port } }]);
    assert.deepEqual([told.type, told.decision?.outcome], ["tcp_connection_closed.v0", "denied"]);
  });

  it("admits other connections", async () => {
    edge(only("198.51.100.0/24"));
    assert.equal((await visit(port)).text, "hello");
  });
});

for (const protocol of protocols) {
  describe(`close-connection over ${protocol}`, { timeout: 30_000 }, () => {
    it("drops the connection without a byte", async () => {
      const value = JSON.stringify({
        on_http_request: [{ expressions: ["req.url.path == '/x'"], actions: [{ type: "close-connection" }] }],
      });
      fixture.route({ traffic_policy: { enabled: true, value } });
      await assert.rejects(fixture.ask(protocol, { path: "/x" }));
      assert.equal((await fixture.ask(protocol, { path: "/y" })).status, 200);
    });
  });

  describe(`an internal endpoint over ${protocol}`, { timeout: 30_000 }, () => {
    it(`an agent's internal endpoint over ${protocol} is reachable only for policies of its account`, async () => {
      const bound = await fixture.agent.bind({ hostname: "api.internal" });
      assert.equal(bound.url, "https://api.internal");
      const value = JSON.stringify({
        on_http_request: [{ actions: [{ type: "forward-internal", config: { url: "https://api.internal" } }] }],
        on_http_response: [{ actions: [{ type: "add-headers", config: { headers: { "x-by": "caller" } } }] }],
      });
      fixture.route({ traffic_policy: { enabled: true, value }, backend: null });
      const answer = await fixture.ask(protocol, { path: "/a" });
      assert.deepEqual([answer.status, answer.body.toString(), answer.headers["x-by"]], [200, "served", "caller"]);
      const seen = fixture.received.at(-1);
      assert.equal(seen?.headers["host"], "app.example.com");
      assert.equal(seen?.headers["x-forwarded-host"], "app.example.com");
      await assert.rejects(fixture.ask(protocol, { host: "api.internal" }));
      await fixture.agent.session.unbind(bound.id);
      assert.equal((await fixture.ask(protocol)).status, 404);
    });

    it(`an internal endpoint over ${protocol} without an answer has its own error, and so has a public one`, async () => {
      const traffic_policy = "on_http_request: [{expressions: ['false'], actions: [{type: deny}]}]";
      fixture.put("cloud_endpoint", "ep_c", { url: "https://c.internal", traffic_policy });
      fixture.put("cloud_endpoint", "ep_d", { url: "https://cloud.example.com", traffic_policy });
      const value = JSON.stringify({
        on_http_request: [{ actions: [{ type: "forward-internal", config: { url: "https://c.internal" } }] }],
      });
      fixture.route({ traffic_policy: { enabled: true, value } });
      for (const host of ["app.example.com", "cloud.example.com"]) {
        const answer = await fixture.ask(protocol, { host });
        assert.deepEqual([answer.status, answer.headers["ngrok-error-code"]], [500, errorCode("policy_fell_through")]);
      }
      for (const id of ["ep_c", "ep_d"]) fixture.edge.remove("cloud_endpoint", id);
    });

    it(`an internal endpoint over ${protocol} that leads back to itself ends after five hops`, async () => {
      const forward = (to: string) =>
        JSON.stringify({
          on_http_request: [{ actions: [{ type: "forward-internal", config: { url: `https://${to}.internal` } }] }],
        });
      fixture.put("cloud_endpoint", "ep_a", { url: "https://a.internal", traffic_policy: forward("b") });
      fixture.put("cloud_endpoint", "ep_b", { url: "https://*.internal", traffic_policy: forward("a") });
      fixture.route({ traffic_policy: { enabled: true, value: forward("a") }, backend: null });
      const answer = await fixture.ask(protocol);
      assert.equal(answer.status, 508);
      assert.equal(answer.headers["ngrok-error-code"], errorCode("forward_loop"));
      for (const id of ["ep_a", "ep_b"]) fixture.edge.remove("cloud_endpoint", id);
    });
  });
}

it("no Host field leads to an internal endpoint", async () => {
  const http = fixture.edge.edge.http;
  assert.ok(http);
  fixture.put("cloud_endpoint", "ep_a", {
    url: "https://a.internal",
    traffic_policy: "on_http_request: [{actions: [{type: custom-response, config: {body: secret}}]}]",
  });
  for (const name of ["a.internal", "a.internal#ac_1"]) {
    const socket = connect(http.port, http.host);
    socket.end(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
    let text = "";
    socket.on("data", (bytes: Buffer) => (text += bytes.toString()));
    await once(socket, "close");
    assert.doesNotMatch(text, /secret/);
  }
});
