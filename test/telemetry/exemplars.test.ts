/** Trace ids in the metrics, as Prometheus asks for them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { request } from "../../src/lib/http.ts";
import { readBody } from "../support/http-client.ts";
import { nodeCount } from "../support/node-count.ts";
import { receivedBy, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { startPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";

const prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";

describe("exemplars", { timeout: 60_000, skip: nodeCount > 1 && "each node has its own" }, () => {
  it("exemplars of the metrics lead to the recorded traces, for clients that accept OpenMetrics", async () => {
    const receiver = await startOtlpReceiver();
    const service = await startHttpService((_request, response) => response.end("served"));
    const platform = await startPlatform({ otlpEndpoint: receiver.url, edges: 2 });
    try {
      const { url } = await platform.startAgent({ upstream: service.port });
      await platform.request(url);
      const { type, text } = await scrape(platform.apiPort, prometheus);
      assert.match(type, /^application\/openmetrics-text; version=1\.0\.0/);
      assert.match(text, /\n# EOF\n$/);
      const [, traceId] =
        /^postern_request_duration_seconds_bucket\{.*\} 1 # \{trace_id="([0-9a-f]{32})"\} [\d.]+ \d+\.?\d*$/m.exec(
          text,
        ) ?? [];
      assert.ok(traceId, text);
      await receivedBy(() => receiver.spans.find((span) => span.traceId === traceId));
      const plain = await scrape(platform.apiPort, "text/plain");
      assert.doesNotMatch(plain.text, /trace_id|# EOF/);
      assert.match(plain.type, /^text\/plain; version=0\.0\.4/);
    } finally {
      await platform.stop();
      await service.stop();
      await receiver.stop();
    }
  });
});

function scrape(port: number, accept: string): Promise<{ readonly type: string; readonly text: string }> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, path: "/metrics", headers: { accept } }, (response) => {
      readBody(response).then(
        (body) => resolve({ type: response.headers["content-type"] ?? "", text: body.toString() }),
        reject,
      );
    })
      .on("error", reject)
      .end();
  });
}
