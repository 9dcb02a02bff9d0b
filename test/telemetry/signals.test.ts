/** Metrics, logs and further spans of a server, as a collector receives them in each encoding. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { exportProtocols } from "../../src/lib/telemetry-words.ts";
import { nodeCount } from "../support/node-count.ts";
import { protocols } from "../support/http-client.ts";
import { receivedBy, startOtlpReceiver } from "../support/otlp-receiver.ts";
import type { OtlpReceiver } from "../support/otlp-receiver.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

for (const otlpProtocol of exportProtocols) {
  const title = `telemetry as ${otlpProtocol}`;
  describe(title, { timeout: 120_000, skip: nodeCount > 1 && "each node sends its own" }, () => {
    let receiver: OtlpReceiver;
    let platform: TestPlatform;
    let service: HttpService;
    let host: string;
    before(async () => {
      receiver = await startOtlpReceiver("https");
      service = await startHttpService((_request, response) => response.end("served"));
      platform = await startPlatform({
        otlpEndpoint: receiver.url,
        otlpCa: receiver.ca,
        otlpProtocol,
        otlpMetricInterval: 1_000,
        otlpExport: ["traces", "metrics", "logs", "access_log"],
        otlpServiceName: "front",
        logLevel: "info",
        logFormat: "json",
      });
      ({ host } = new URL((await platform.startAgent({ upstream: service.port })).url));
    });
    after(async () => {
      await platform?.stop();
      await service?.stop();
      await receiver?.stop();
    });

    for (const http of protocols) {
      it(`${title} has log records of a request over ${http} with the ids of its trace`, async () => {
        const served = await platform.request(`https://${host}/logged?token=secret`, { http });
        const record = await receivedBy(() =>
          receiver.logs.find(({ attributes }) => attributes["postern.request.id"] === served.id),
        );
        const span = await receivedBy(() => receiver.spans.find(({ spanId }) => spanId === record.spanId));
        assert.equal(span.traceId, record.traceId);
        assert.equal(span.attributes["postern.request.id"], served.id);
        assert.match(String(record.body), /^GET \S+\/logged 200$/);
        const denied = await platform.request(`https://none.${platform.domain}/x`, { http });
        const line = await receivedBy(() =>
          receiver.logs.find(
            ({ body, attributes }) => body === "request ended at the edge" && attributes["request"] === denied.id,
          ),
        );
        assert.equal(line.severity, "INFO");
        const failed = await receivedBy(() => receiver.spans.find(({ traceId }) => traceId === line.traceId));
        assert.equal(failed.attributes["postern.request.id"], denied.id);
        assert.doesNotMatch(JSON.stringify([receiver.logs, receiver.spans]), /token=secret/);
      });

      it(`${title} has a span for a module that denied a request over ${http}`, async () => {
        const { body: edge } = await platform.api("POST", "/edges/https", {
          hostports: [`denied-${http}.example.com:443`],
        });
        const { body: policy } = await platform.api("POST", "/ip_policies", {});
        const { body: backend } = await platform.api("POST", "/backends/http_response", { status_code: 404 });
        await platform.api("POST", `/edges/https/${edge.id}/routes`, {
          match_type: "path_prefix",
          match: "/",
          backend: { backend_id: backend.id },
          ip_restriction: { ip_policy_ids: [policy.id] },
        });
        const answer = await platform.request(`https://denied-${http}.example.com/`, { http });
        assert.equal(answer.status, 403);
        const server = await receivedBy(() =>
          receiver.spans.find(({ attributes }) => attributes["postern.request.id"] === answer.id),
        );
        assert.equal(server.attributes["postern.outcome"], "denied");
        assert.equal(server.isError, false);
        const names = receiver.spans
          .filter(({ parentSpanId }) => parentSpanId === server.spanId)
          .map(({ name }) => name);
        assert.deepEqual(names, ["TLS handshake", "ip_restriction"]);
      });
    }

    it(`${title} has the metrics that /metrics has`, async () => {
      const text = (await platform.api("GET", "/metrics")).text;
      const names = new Set(Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name));
      await receivedBy(() => (receiver.points.length > 0 ? true : undefined));
      const sent = new Set(receiver.points.map(({ name }) => name));
      assert.deepEqual(
        [...names].filter((name) => !sent.has(name as string)),
        [],
      );
      const requests = await receivedBy(() =>
        receiver.points.findLast(({ name, value }) => name === "postern_api_responses_total" && value > 0),
      );
      assert.deepEqual([requests.kind, requests.attributes["status"]], ["sum", "2xx"]);
    });

    it(`${title} has spans of the API's writes, and none of its reads`, async () => {
      const made = await platform.api("POST", "/ip_policies", { description: "traced" });
      assert.equal(made.status, 201);
      const span = await receivedBy(() => receiver.spans.findLast(({ name }) => name === "POST /ip_policies"));
      assert.deepEqual([span.kind, span.attributes["http.response.status_code"]], [2, 201]);
      assert.equal(
        receiver.spans.some(({ name }) => name.startsWith("GET /")),
        false,
      );
    });

    it(`${title} has the operator's name of the service`, () => {
      assert.ok(receiver.resources.length > 0);
      for (const resource of receiver.resources) assert.equal(resource["service.name"], "front");
    });
  });
}
