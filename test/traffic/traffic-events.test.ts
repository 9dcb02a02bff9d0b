/** Traffic events through the whole platform: subscribers receive what an edge serves. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { freePort } from "../support/connections.ts";
import { startPlatform } from "../support/platform.ts";
import type { ApiBody, TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

describe("events of traffic through the platform", { timeout: 60_000 }, () => {
  let platform: TestPlatform;
  let upstream: HttpService;
  const events: ApiBody[] = [];
  const receiver = createServer((request, response) => {
    let text = "";
    request.on("data", (bytes: Buffer) => (text += bytes.toString()));
    request.on("end", () => {
      events.push({ ...JSON.parse(text), text });
      response.end();
      receiver.emit("counted");
    });
  });
  const event = async (wanted: (object: ApiBody) => boolean): Promise<ApiBody> => {
    for (;;) {
      const found = events.find(({ object }) => wanted(object));
      if (found) return found;
      await once(receiver, "counted");
    }
  };
  const ok = async (method: string, path: string, body: unknown): Promise<ApiBody> => {
    const answer = await platform.api(method, path, body);
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  };

  before(async () => {
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
    platform = await startPlatform({ allowLocalUpstreams: true });
    upstream = await startHttpService((request, response) => {
      request.resume().on("end", () => response.end("hello"));
    });
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const { id } = await ok("POST", "/event_destinations", { target: { webhook: { url } } });
    const sources = [{ type: "http_request_complete.v0" }, { type: "tcp_connection_closed.v0" }];
    await ok("POST", "/event_subscriptions", { sources, destination_ids: [id] });
  });
  after(async () => {
    await platform.stop();
    await upstream.stop();
    receiver.closeAllConnections();
    receiver.close();
  });

  for (const http of ["h1", "h2"] as const) {
    it(`traffic events for a request over ${http} contain the request, its outcome and the visitor, and no secret`, async () => {
      const edge = await ok("POST", "/edges/https", { hostports: [`${http}.example.com:443`] });
      const backend = await ok("POST", "/backends/tunnel_group", { labels: { app: http } });
      const route = await ok("POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: "/",
        backend: { backend_id: backend.id },
      });
      const agent = await platform.startAgent({ upstream: upstream.port, labels: { app: http } });
      const answer = await platform.request(`https://${http}.example.com/a/b?token=in-the-query`, {
        http,
        method: "POST",
        body: "four",
        headers: { authorization: "Bearer in-the-field", cookie: "session=in-the-cookie", "user-agent": "tester/2" },
      });
      assert.equal(answer.status, 200);
      const { object, text, event_type, event_timestamp } = await event(({ site_id }) => site_id === edge.id);
      assert.equal(event_type, "http_request_complete.v0");
      assert.equal(event_timestamp, object.ended_at);
      assert.doesNotMatch(text, /in-the-/);
      const tunnel = (await platform.api("GET", "/tunnels")).body.tunnels.find(
        ({ labels }: ApiBody) => labels?.app === http,
      );
      const { id, started_at, ended_at, duration_ms, source_port, tls, decision, ...rest } = object;
      assert.match(id, /^[0-9a-z_]{20,}$/);
      assert.ok(Date.parse(started_at) <= Date.parse(ended_at) && duration_ms > 0 && source_port > 0);
      assert.equal(tls.version, "TLSv1.3");
      assert.equal(tls.server_name, `${http}.example.com`);
      assert.equal(decision.outcome, "passed");
      assert.deepEqual(rest, {
        site_id: edge.id,
        backend_id: backend.id,
        tunnel_id: tunnel.id,
        route_id: route.id,
        source_ip: "127.0.0.1",
        bytes_in: 4,
        bytes_out: 5,
        logs: [],
        method: "POST",
        scheme: "https",
        host: `${http}.example.com`,
        path: "/a/b",
        http_version: http === "h1" ? "1.1" : "2",
        user_agent: "tester/2",
        websocket: false,
        status_code: 200,
        outcome: "forwarded",
        error_code: null,
        cut_short: false,
        oauth: null,
        saml: null,
      });
      await agent.close();
      let tried: unknown = tunnel.id;
      // An edge of another server tries the tunnel until it learns that the tunnel is gone.
      for (let asked = 0; tried !== null; asked += 1) {
        const at = `/nobody/${asked}`;
        const refused = await platform.request(`https://${http}.example.com${at}`, { http });
        assert.equal(refused.status, 503);
        const denied = (await event(({ path, site_id }) => path === at && site_id === edge.id)).object;
        assert.equal(denied.status_code, 503);
        assert.match(denied.error_code, /^ERR_POSTERN_\d+$/);
        tried = denied.tunnel_id;
      }
    });
  }

  it("traffic events include a connection to a TCP edge when it has ended, and a refused one", async () => {
    const port = await freePort();
    const backend = await ok("POST", "/backends/static", { address: `127.0.0.1:${upstream.port}` });
    const edge = await ok("POST", "/edges/tcp", {
      hostports: [`db.example.com:${port}`],
      backend: { backend_id: backend.id },
    });
    const asked = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const open = async (): Promise<string> => {
      const socket = connect(port, "127.0.0.1");
      let text = "";
      socket.on("data", (bytes: Buffer) => (text += bytes.toString()));
      socket.on("error", () => {});
      socket.write(asked);
      await new Promise((closed) => socket.once("close", closed));
      return text;
    };
    let text = "";
    while (text === "") text = await open();
    const served = (await event(({ site_id, outcome }) => site_id === edge.id && outcome === "served")).object;
    assert.deepEqual(
      [served.protocol, served.backend_id, served.tunnel_id, served.tls, served.source_ip],
      ["tcp", backend.id, null, null, "127.0.0.1"],
    );
    assert.deepEqual([served.bytes_in, served.bytes_out], [asked.length, Buffer.byteLength(text)]);
    const policy = await ok("POST", "/ip_policies", {});
    await ok("POST", "/ip_policy_rules", { ip_policy_id: policy.id, cidr: "192.0.2.0/24", action: "allow" });
    await ok("PUT", `/edges/tcp/${edge.id}/ip_restriction`, { ip_policy_ids: [policy.id] });
    // Until the restriction is in effect, connections are served.
    while ((await open()) !== "");
    const { object } = await event(({ site_id, outcome }) => site_id === edge.id && outcome === "denied");
    assert.deepEqual([object.source_port, object.bytes_out, object.decision.by], [null, 0, "ip_restriction"]);
  });
});
