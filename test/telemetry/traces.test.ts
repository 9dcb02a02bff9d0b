/** Traces of real requests, as a collector receives them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { nodeCount } from "../support/node-count.ts";
import { protocols } from "../support/http-client.ts";
import { receivedBy, startOtlpReceiver } from "../support/otlp-receiver.ts";
import type { OtlpReceiver, ReceivedSpan } from "../support/otlp-receiver.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const clientSpan = "00f067aa0ba902b7";

describe("traces", { timeout: 120_000, skip: nodeCount > 1 && "each node sends its own" }, () => {
  let receiver: OtlpReceiver;
  let platform: TestPlatform;
  let service: HttpService;
  let url: string;
  const seen: { traceparent: string | undefined; tracestate: string | undefined }[] = [];
  before(async () => {
    receiver = await startOtlpReceiver();
    service = await startHttpService((request, response) => {
      const { traceparent, tracestate } = request.headers;
      seen.push({ traceparent: traceparent as string | undefined, tracestate: tracestate as string | undefined });
      response.end("served");
    });
    platform = await startPlatform({
      otlpEndpoint: receiver.url,
      otlpHeaders: { "x-api-key": "of-the-collector" },
      otlpSampler: "parentbased_traceidratio",
      otlpSamplerArg: 0,
      allowLocalUpstreams: true,
    });
    ({ url } = await platform.startAgent({ upstream: service.port }));
  });
  after(async () => {
    await platform?.stop();
    await service?.stop();
    await receiver?.stop();
  });
  const spansOf = (trace: string): readonly ReceivedSpan[] => receiver.spans.filter((span) => span.traceId === trace);
  const spanOf = (requestId: string): Promise<ReceivedSpan> =>
    receivedBy(() => receiver.spans.find(({ attributes }) => attributes["postern.request.id"] === requestId));

  for (const http of protocols) {
    it(`traces continue the trace of a client over ${http}, and the upstream continues theirs`, async () => {
      seen.length = 0;
      const answer = await platform.request(`${url}/a/b?token=secret`, {
        http,
        headers: { traceparent: `00-${traceId}-${clientSpan}-01`, tracestate: "vendor=1", "user-agent": "tester/1" },
      });
      assert.equal(answer.status, 200);
      const server = await spanOf(answer.id);
      assert.deepEqual([server.traceId, server.parentSpanId, server.traceState], [traceId, clientSpan, "vendor=1"]);
      assert.deepEqual([server.name, server.kind, server.isError, server.service], ["GET", 2, false, "postern"]);
      const { host } = new URL(url);
      const { "client.port": port, "postern.route.id": _route, ...attributes } = server.attributes;
      assert.ok(Number(port) > 0);
      assert.deepEqual(pick(attributes, Object.keys(expected(http, host))), expected(http, host));
      assert.doesNotMatch(JSON.stringify(server), /secret/);
      const tunnel = spansOf(traceId).find(
        ({ parentSpanId, name }) => parentSpanId === server.spanId && name === "tunnel",
      );
      assert.ok(tunnel);
      assert.deepEqual([tunnel.kind, tunnel.events], [3, ["first byte"]]);
      assert.ok(tunnel.startMs >= server.startMs - 1 && tunnel.endMs <= server.endMs + 1);
      assert.deepEqual(seen, [{ traceparent: `00-${traceId}-${tunnel.spanId}-01`, tracestate: "vendor=1" }]);
      const shown = await platform.api("GET", `/requests/${answer.id}`);
      assert.equal(shown.body.trace_id, traceId);
      const handshake = spansOf(traceId).find(
        ({ parentSpanId, name }) => parentSpanId === server.spanId && name === "TLS handshake",
      );
      assert.equal(handshake?.attributes["tls.protocol.version"], "1.3");
    });

    it(`traces of a sampler with ratio 0 over ${http} are not recorded, and the upstream learns it`, async () => {
      seen.length = 0;
      const answer = await platform.request(`${url}/unsampled`, { http, headers: { tracestate: "without=parent" } });
      assert.match(seen[0]?.traceparent ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
      assert.equal(seen[0]?.tracestate, undefined);
      const denied = await platform.request(`https://unknown.${platform.domain}/`, { http });
      await spanOf(denied.id);
      assert.equal(
        receiver.spans.some(({ attributes }) => attributes["postern.request.id"] === answer.id),
        false,
      );
    });

    it(`traces begin anew over ${http} if the traceparent is invalid`, async () => {
      for (const bad of [`00-${traceId}-${"0".repeat(16)}-01`, `ff-${traceId}-${clientSpan}-01`, "x".repeat(5_000)]) {
        seen.length = 0;
        await platform.request(`${url}/bad`, { http, headers: { traceparent: bad, tracestate: "vendor=1" } });
        assert.match(seen[0]?.traceparent ?? "", new RegExp(`^00-(?!${traceId})[0-9a-f]{32}-[0-9a-f]{16}-00$`));
        assert.equal(seen[0]?.tracestate, undefined);
      }
    });
  }

  for (const http of protocols) {
    it(`traces over ${http} begin anew on a route that removes the client's traceparent, and go to a static backend`, async () => {
      const hostname = `own-${http}.example.com`;
      const { body: edge } = await platform.api("POST", "/edges/https", { hostports: [`${hostname}:443`] });
      const address = `127.0.0.1:${service.port}`;
      const backend = await platform.api("POST", "/backends/static", { address, tls: { enabled: false } });
      assert.equal(backend.status, 201, backend.text);
      const route = await platform.api("POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: "/",
        backend: { backend_id: backend.body.id },
        request_headers: { remove: ["traceparent"] },
      });
      assert.equal(route.status, 201, route.text);
      seen.length = 0;
      const headers = { traceparent: `00-${traceId}-${clientSpan}-01` };
      assert.equal((await platform.request(`https://${hostname}/`, { http, headers })).status, 200);
      assert.match(seen[0]?.traceparent ?? "", new RegExp(`^00-(?!${traceId})[0-9a-f]{32}-[0-9a-f]{16}-00$`));
    });
  }

  it("traces always begin at the server with --trace-context begin, so that no client decides what is recorded", async () => {
    const own = await startPlatform({
      otlpEndpoint: receiver.url,
      traceContext: "begin",
      otlpSamplerArg: 0,
      otlpSampler: "parentbased_traceidratio",
    });
    try {
      const agent = await own.startAgent({ upstream: service.port });
      seen.length = 0;
      const headers = { traceparent: `00-${traceId}-${clientSpan}-01`, tracestate: "vendor=1" };
      const answer = await own.request(agent.url, { headers });
      assert.match(seen[0]?.traceparent ?? "", new RegExp(`^00-(?!${traceId})[0-9a-f]{32}-[0-9a-f]{16}-00$`));
      assert.equal(seen[0]?.tracestate, undefined);
      const denied = await own.request(`https://unknown.${own.domain}/`, { headers });
      assert.notEqual((await spanOf(denied.id)).traceId, traceId);
      assert.equal(
        receiver.spans.some(({ attributes }) => attributes["postern.request.id"] === answer.id),
        false,
      );
    } finally {
      await own.stop();
    }
  });

  it("traces have the header fields and the resource of the operator", () => {
    assert.equal(receiver.requests[0]?.headers["x-api-key"], "of-the-collector");
    assert.equal(receiver.resources[0]?.["service.name"], "postern");
    assert.equal(receiver.resources[0]?.["service.version"], "0.0.0-test");
  });
});

function expected(http: "h1" | "h2", host: string) {
  return {
    "http.request.method": "GET",
    "url.scheme": "https",
    "url.path": "/a/b",
    "server.address": host.split(":")[0],
    "client.address": "127.0.0.1",
    "network.protocol.version": http === "h2" ? "2" : "1.1",
    "user_agent.original": "tester/1",
    "http.response.status_code": 200,
    "http.response.body.size": 6,
    "postern.outcome": "forwarded",
  };
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}
