/** One trace over edge and agent, with the agent as a command. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startCommand } from "../support/command.ts";
import { protocols } from "../support/http-client.ts";
import { nodeCount } from "../support/node-count.ts";
import { receivedBy, startOtlpReceiver } from "../support/otlp-receiver.ts";
import type { OtlpReceiver } from "../support/otlp-receiver.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

describe("traces of an agent", { timeout: 120_000, skip: nodeCount > 1 && "each node sends its own" }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-agent-traces-"));
  let receiver: OtlpReceiver;
  let platform: TestPlatform;
  let service: HttpService;
  let url: string;
  let stopAgent: () => Promise<unknown>;
  before(async () => {
    receiver = await startOtlpReceiver();
    service = await startHttpService((request, response) => {
      if (request.url === "/chunked") response.write("without a length");
      response.end("served");
    });
    platform = await startPlatform({ otlpTracesEndpoint: `${receiver.url}/v1/traces` });
    writeFileSync(join(directory, "ca.pem"), platform.caPem);
    const files = join(directory, ".config", "postern");
    mkdirSync(files, { recursive: true });
    writeFileSync(join(files, "agent.yml"), `otlp_endpoint: ${receiver.url}\n`);
    const access = ["--server", `127.0.0.1:${platform.agentPort}`, "--ca", join(directory, "ca.pem")];
    const agent = startCommand(["http", String(service.port), "--json", ...access, "--inspector", "off"], {
      env: {
        HOME: directory,
        POSTERN_AUTHTOKEN: platform.authtoken,
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=a%20test",
      },
    });
    stopAgent = () => agent.end();
    ({ url } = JSON.parse(await agent.firstLine()) as { url: string });
  });
  after(async () => {
    await stopAgent?.();
    await platform?.stop();
    await service?.stop();
    await receiver?.stop();
    rmSync(directory, { recursive: true });
  });

  for (const http of protocols) {
    it(`traces of an agent continue the edge's span of a request over ${http}`, async () => {
      const answer = await platform.request(`${url}/of-${http}?secret=1`, { http });
      assert.equal(answer.status, 200);
      const own = await receivedBy(() =>
        receiver.spans.find(
          ({ service: name, attributes }) => name === "postern-agent" && attributes["url.path"] === `/of-${http}`,
        ),
      );
      const tunnel = await receivedBy(() => receiver.spans.find(({ spanId }) => spanId === own.parentSpanId));
      const server = await receivedBy(() => receiver.spans.find(({ spanId }) => spanId === tunnel.parentSpanId));
      assert.deepEqual([tunnel.name, tunnel.traceId, server.traceId], ["tunnel", own.traceId, own.traceId]);
      assert.equal(server.attributes["postern.request.id"], answer.id);
      assert.equal(own.attributes["http.response.status_code"], 200);
      assert.ok(Number(own.attributes["postern.first_byte_ms"]) >= 0);
      assert.doesNotMatch(JSON.stringify(own), /secret/);
    });
  }

  it("traces of an agent have a span for a response without a length, and for a service that is away", async () => {
    await platform.request(`${url}/chunked`);
    const first = await platform.request(`${url}/after`);
    assert.equal(first.status, 200);
    await service.stop();
    const away = await platform.request(`${url}/away`);
    assert.equal(away.status, 502);
    await stopAgent();
    const [failed] = await receivedBy(() => {
      const found = receiver.spans.filter(
        ({ service: name, attributes }) => name === "postern-agent" && attributes["url.path"] === "/away",
      );
      return found.length > 0 ? found : undefined;
    });
    assert.equal(failed?.isError, true);
    assert.ok(
      receiver.spans.some(
        ({ service: name, attributes }) => name === "postern-agent" && attributes["url.path"] === "/chunked",
      ),
    );
    assert.ok(receiver.resources.some((resource) => resource["deployment.environment.name"] === "a test"));
  });
});
