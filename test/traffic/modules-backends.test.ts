import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { issueLeaf } from "../../src/lib/certificates/x509.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";

let fixture: EdgeWithAgent;
const agents: TestAgent[] = [];

/** A service with its own agent, which responds with its name. */
async function named(name: string, labels: Readonly<Record<string, string>>): Promise<TestAgent> {
  return await serving(labels, (_request, response) => response.end(name));
}

async function serving(labels: Readonly<Record<string, string>>, answer: RequestListener): Promise<TestAgent> {
  const service = createServer(answer).listen(0, "127.0.0.1").unref();
  await once(service, "listening");
  const agent = await connectAgent(fixture.edge, fixture.token, (service.address() as AddressInfo).port);
  await agent.label(labels);
  agents.push(agent);
  return agent;
}

/** An agent without a listening service. */
async function withoutService(labels: Readonly<Record<string, string>>): Promise<TestAgent> {
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  const { port } = gone.address() as AddressInfo;
  gone.close();
  const agent = await connectAgent(fixture.edge, fixture.token, port);
  await agent.label(labels);
  agents.push(agent);
  return agent;
}

before(async () => {
  fixture = await startEdgeWithAgent();
  for (const name of ["a", "b", "c"]) {
    await named(name, { name });
    fixture.put("tunnel_group_backend", `bkdtg_${name}`, { labels: { name } });
  }
  fixture.put("tunnel_group_backend", "bkdtg_none", { labels: { name: "none" } });
  fixture.put("http_response_backend", "bkdhr_1", {
    status_code: 503,
    headers: { "retry-after": "60", "content-type": "text/plain" },
    body: "closed for today",
  });
});
after(async () => {
  for (const agent of agents) agent.close();
  await fixture.stop();
});

const to = (backend_id: string) => fixture.route({ backend: { enabled: true, backend_id } });

for (const protocol of protocols) {
  describe(`backends over ${protocol}`, () => {
    const who = async (): Promise<string> => (await fixture.ask(protocol)).body.toString();
    const count = async (requests: number): Promise<Record<string, number>> => {
      const counts: Record<string, number> = {};
      for (let at = 0; at < requests; at += 1) {
        const name = await who();
        counts[name] = (counts[name] ?? 0) + 1;
      }
      return counts;
    };

    it(`backends over ${protocol}: weighted: shares requests out by weight, and gives weight 0 nothing`, async () => {
      fixture.put("weighted_backend", "bkdwd_1", { backends: { bkdtg_a: 3, bkdtg_b: 1, bkdtg_c: 0 } });
      to("bkdwd_1");
      assert.deepEqual(await count(16), { a: 12, b: 4 });
      fixture.put("weighted_backend", "bkdwd_1", { backends: { bkdtg_c: 1 } });
      assert.deepEqual(await count(3), { c: 3 });
      fixture.put("weighted_backend", "bkdwd_1", { backends: { bkdtg_c: 0 } });
      assert.equal((await fixture.ask(protocol)).status, 503);
    });

    it(`backends over ${protocol}: failover: continues only if a member cannot be reached, whatever a service answers`, async () => {
      fixture.put("failover_backend", "bkdfo_1", { backends: ["bkdtg_none", "bkdtg_1", "bkdtg_a"] });
      to("bkdfo_1");
      fixture.answer((_request, response) => response.writeHead(500).end("failing"));
      assert.equal(await who(), "failing");
      fixture.answer(undefined);
      fixture.put("failover_backend", "bkdfo_1", { backends: ["bkdtg_none", "bkdhr_1"] });
      assert.equal(await who(), "closed for today");
      fixture.put("failover_backend", "bkdfo_1", { backends: ["bkdtg_none"] });
      const none = await fixture.ask(protocol);
      assert.deepEqual([none.status, none.headers["postern-error-code"]], [503, errorCode("backend_empty")]);
    });

    it(`backends over ${protocol}: failover: continues if the agent cannot dial its service, and the request had no body`, async () => {
      const agent = await withoutService({ name: `dead-${protocol}` });
      fixture.put("tunnel_group_backend", "bkdtg_dead", { labels: { name: `dead-${protocol}` } });
      fixture.put("failover_backend", "bkdfo_1", { backends: ["bkdtg_dead", "bkdtg_b"] });
      to("bkdfo_1");
      assert.equal(await who(), "b");
      to("bkdtg_dead");
      const alone = await fixture.ask(protocol);
      assert.deepEqual([alone.status, alone.headers["postern-error-code"]], [502, errorCode("agent_dial_failed")]);
      agent.close();
    });

    it(`backends over ${protocol}: http_response: answers without an upstream`, async () => {
      to("bkdhr_1");
      const answer = await fixture.ask(protocol);
      assert.equal(answer.status, 503);
      assert.equal(answer.headers["retry-after"], "60");
      assert.equal(answer.headers["postern-error-code"], undefined);
      assert.equal(answer.body.toString(), "closed for today");
      const head = await fixture.ask(protocol, { method: "HEAD" });
      assert.deepEqual([head.status, head.body.length, head.headers["content-length"]], [503, 0, "16"]);
    });

    it(`backends over ${protocol}: tunnel group: distributes requests over all tunnels with the labels, as they come and go`, async () => {
      fixture.put("tunnel_group_backend", "bkdtg_both", { labels: { both: protocol } });
      to("bkdtg_both");
      assert.equal((await fixture.ask(protocol)).status, 503);
      const one = await named("one", { both: protocol });
      assert.deepEqual(await count(2), { one: 2 });
      await named("two", { both: protocol, more: "labels" });
      assert.deepEqual(await count(8), { one: 4, two: 4 });
      one.close();
      while (Object.keys(await count(2)).includes("one"));
      assert.deepEqual(await count(4), { two: 4 });
    });

    it(`backends over ${protocol}: tunnel group: chooses the tunnel with the fewest requests in flight`, async () => {
      const held: ServerResponse[] = [];
      const slow = await serving({ busy: protocol }, (_request, response) => void held.push(response));
      fixture.put("tunnel_group_backend", "bkdtg_busy", { labels: { busy: protocol } });
      to("bkdtg_busy");
      const waiting = [fixture.ask(protocol), fixture.ask(protocol)];
      while (held.length < 2) await new Promise(setImmediate);
      await named("free", { busy: protocol });
      assert.deepEqual(await count(6), { free: 6 });
      for (const response of held) response.end("slow");
      for (const { body } of await Promise.all(waiting)) assert.equal(String(body), "slow");
      slow.close();
    });

    it(`backends over ${protocol}: tunnel group: tries another tunnel when a service cannot be dialled, also for a request with a body`, async () => {
      const agent = await withoutService({ half: protocol });
      const held: ServerResponse[] = [];
      await serving({ half: protocol }, (request, response) => {
        if (request.url === "/held") held.push(response);
        else response.end("alive");
      });
      fixture.put("tunnel_group_backend", "bkdtg_half", { labels: { half: protocol } });
      to("bkdtg_half");
      assert.deepEqual(await count(6), { alive: 6 });
      // The dead one is the least loaded now, and chosen first each time.
      const waiting = fixture.ask(protocol, { path: "/held" });
      while (held.length === 0) await new Promise(setImmediate);
      assert.deepEqual(await count(6), { alive: 6 });
      for (const response of held) response.end();
      await waiting;
      const statuses = new Set<number>();
      for (let at = 0; at < 6; at += 1)
        statuses.add((await fixture.ask(protocol, { method: "POST", body: "x" })).status);
      assert.deepEqual(statuses, new Set([200]));
      agent.close();
    });

    it(`I7: backends over ${protocol}: static: never dials loopback or link-local addresses unless the operator allows it`, async () => {
      const { servicePort } = fixture;
      const reached = fixture.received.length;
      for (const address of [
        `127.0.0.1:${servicePort}`,
        `127.8.9.10:${servicePort}`,
        `localhost:${servicePort}`,
        `[::1]:${servicePort}`,
        `[::ffff:127.0.0.1]:${servicePort}`,
        `[64:ff9b::7f00:1]:${servicePort}`,
        `0.0.0.0:${servicePort}`,
        `[::]:${servicePort}`,
        "169.254.169.254:80",
        "[fe80::1]:80",
      ]) {
        fixture.put("static_backend", "bkdsc_1", { address, tls: { enabled: false } });
        to("bkdsc_1");
        const answer = await fixture.ask(protocol);
        assert.equal(answer.status, 502, address);
        assert.equal(answer.headers["postern-error-code"], errorCode("upstream_forbidden"), address);
      }
      assert.equal(fixture.received.length, reached);
    });
  });
}

describe("a static backend that the operator allows to be local", () => {
  let local: EdgeWithAgent;
  before(async () => (local = await startEdgeWithAgent({ allowLocalUpstreams: true })));
  after(() => local.stop());

  for (const protocol of protocols) {
    it(`a static backend that the operator allows to be local is dialled over ${protocol}, again and again over the same connections`, async () => {
      const sockets = new Set<number | undefined>();
      const service = createServer((request, response) => {
        sockets.add(request.socket.remotePort);
        response.end("direct");
      }).listen(0, "127.0.0.1");
      await once(service, "listening");
      const address = `127.0.0.1:${(service.address() as AddressInfo).port}`;
      local.put("static_backend", "bkdsc_1", { address, tls: { enabled: false } });
      local.route({ backend: { enabled: true, backend_id: "bkdsc_1" } });
      for (let count = 0; count < 5; count += 1) {
        assert.equal((await local.ask(protocol)).body.toString(), "direct");
      }
      assert.equal(sockets.size, 1);
      service.closeAllConnections();
      service.close();
    });

    it(`I7: a static backend that the operator allows to be local is refused over ${protocol} when its certificate is not to be trusted`, async () => {
      const names = ["127.0.0.1", "localhost"];
      const leaf = await issueLeaf(local.edge.authority, { names, now: Date.now(), days: 1 });
      let reached = 0;
      const service = createTlsServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (_request, response) => {
        reached += 1;
        response.end();
      }).listen(0, "127.0.0.1");
      service.on("tlsClientError", () => {});
      await once(service, "listening");
      const address = `127.0.0.1:${(service.address() as AddressInfo).port}`;
      local.put("static_backend", "bkdsc_tls", { address, tls: { enabled: true } });
      local.route({ backend: { enabled: true, backend_id: "bkdsc_tls" } });
      const answer = await local.ask(protocol);
      assert.deepEqual([answer.status, answer.headers["postern-error-code"]], [502, errorCode("upstream_refused")]);
      assert.equal(reached, 0);
      service.close();
    });
  }
});
