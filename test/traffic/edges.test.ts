/** Several edges with one control plane: what the API reports, and how visitors of each edge are served. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { checkEdges, defaultEdgeCount } from "../../src/cli/platform/edge-count.ts";
import { findTimes } from "../../src/tunnel/request-times.ts";
import { eventually } from "../support/eventually.ts";
import type { Protocol } from "../support/http-client.ts";
import { keeping } from "../support/keeping-agent.ts";
import { metricSum } from "../support/metrics.ts";
import type { OurAgent, OurAgentOptions } from "../support/our-agent.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

describe("two edges", { timeout: 60_000 }, () => {
  let platform: TestPlatform;
  let service: HttpService;
  /** An agent with a session at only one of them. */
  let atOne: OurAgentOptions;

  before(async () => {
    platform = await startPlatform({ edges: 2 });
    service = await startHttpService((_request, response) => response.end("served"));
    atOne = { upstream: service.port, agent: { connections: 1 } };
  });
  after(async () => {
    await platform.stop();
    await service.stop();
  });
  const metric = async (name: string, label?: string): Promise<number> => {
    const { text } = await platform.api("GET", "/metrics");
    return metricSum(text, name, label);
  };
  /** Visits until the edge that has not the agent was visited, too: every one is answered. */
  const visitBoth = async (agent: OurAgent, http: Protocol): Promise<string[]> => {
    const before = await metric("postern_peer_streams_total");
    const ids: string[] = [];
    while ((await metric("postern_peer_streams_total")) === before || ids.length < 16) {
      const answer = await platform.request(agent.url, { http, headers: { "x-visit": "1" } });
      assert.equal(`${answer.status} ${answer.text}`, "200 served");
      ids.push(answer.id);
    }
    return ids;
  };

  it("two edges both serve an agent's URL, merge their traces, and are counted together", async () => {
    const answered = () => metric("postern_http_requests_total", 'status="2xx"');
    const agent = await platform.startAgent(atOne);
    const before = await answered().catch(() => 0);
    const ids = await visitBoth(agent, "h1");
    const { body } = await platform.api("GET", `/requests?limit=${ids.length}`);
    const listed = (body.requests as { id: string }[]).map(({ id }) => id);
    assert.deepEqual(listed, [...ids].sort().reverse());
    const [tunnel] = (await platform.api("GET", "/tunnels")).body.tunnels;
    for (const id of ids) {
      const { tunnel: served } = (await platform.api("GET", `/requests/${id}`)).body;
      assert.deepEqual([served.id, served.tunnel_session_id], [tunnel.id, tunnel.tunnel_session.id]);
    }
    assert.equal(await answered(), before + ids.length);
    assert.equal(await metric("postern_tunnels"), 1);
    await agent.close();
  });

  it("two edges both put a write into effect", async () => {
    const revision = await metric("postern_revision");
    await platform.api("POST", "/ip_policies", { description: "seen by both" });
    while ((await metric("postern_revision_applied")) <= revision);
  });

  it("two edges have an agent's session end wherever it is when its token is deleted", async () => {
    const { body: credential } = await platform.api("POST", "/credentials", {});
    const other = await platform.startAgent({ ...atOne, token: credential.token });
    await platform.api("DELETE", `/credentials/${credential.id}`);
    assert.equal((await other.ended).reason, "credentials");
  });

  it("two edges both report request durations to an agent that requests them, and to no other", async () => {
    let lines = Buffer.alloc(0);
    const agent = { connections: 1, requestTimes: (told: Buffer) => void (lines = Buffer.concat([lines, told])) };
    const asking = await platform.startAgent({ ...atOne, agent, tunnel: { wantsTimes: true } });
    const timesOf = (id: string) =>
      eventually(
        () => findTimes(lines, id),
        (found) => found !== undefined,
      );
    for (const id of await visitBoth(asking, "h1")) {
      const times = await timesOf(id);
      assert.ok(times && times.edgeMs > 0 && times.waitMs > 0, JSON.stringify(times));
    }
    const others = await visitBoth(await platform.startAgent({ ...atOne, agent }), "h1");
    assert.ok(await timesOf((await platform.request(asking.url)).id));
    for (const id of others) assert.equal(findTimes(lines, id), undefined);
    await asking.close();
  });

  it("two edges both return captured requests of an agent at one of them, and replay each once", async () => {
    const agent = await platform.startAgent(await keeping(atOne));
    const [first = "", ...others] = await visitBoth(agent, "h2");
    for (const id of [first, ...others]) {
      const { status, text, body } = await platform.api("GET", `/requests/${id}/exchange`);
      assert.equal(status, 200, text);
      assert.deepEqual([body.request_id, atob(body.response.body.base64)], [id, "served"]);
    }
    const { body: sent } = await platform.api("POST", `/requests/${first}/replay`, {});
    assert.equal(atob(sent.response.body.base64), "served");
    await agent.close();
  });

  it("two edges both serve over HTTP/2", async () => {
    await visitBoth(await platform.startAgent(atOne), "h2");
  });
});

describe("the number of edges", () => {
  it("the number of edges is refused above one where the system does not share ports", async () => {
    for (const system of ["darwin", "win32"]) {
      await assert.rejects(checkEdges(2, [], system), /2 edges cannot share the same ports on this system: run one/);
      await checkEdges(1, [], system);
    }
    assert.ok(defaultEdgeCount() >= 1);
  });

  it("a start with several edges detects a port that is in use", async () => {
    const first = await startPlatform();
    const taken = { host: "127.0.0.1", port: first.httpsPort };
    await assert.rejects(startPlatform({ edges: 2, httpsListen: taken }), /in use, and the HTTPS edge needs it/);
    await first.stop();
    const shared = await startPlatform({ edges: 2 });
    const both = { host: "127.0.0.1", port: shared.httpsPort };
    await assert.rejects(startPlatform({ edges: 2, httpsListen: both }), /in use, and the HTTPS edge needs it/);
    await shared.stop();
  });
});
