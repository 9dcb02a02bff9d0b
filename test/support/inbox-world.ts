/** A platform with an edge whose route has an inbox, and a service that records the webhooks it receives. */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { PlatformOptions } from "../../src/cli/platform/platform.ts";
import { startPlatform } from "./platform.ts";
import type { ApiBody, TestPlatform } from "./platform.ts";
import { eventually } from "./eventually.ts";
import type { OurAgent } from "./our-agent.ts";
import { startHttpService } from "./services.ts";

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly at: number;
}

export interface InboxWorld {
  readonly platform: TestPlatform;
  readonly host: string;
  readonly servicePort: number;
  readonly edgeId: string;
  readonly received: readonly ReceivedRequest[];
  /** Answers of the service. Default: 200. */
  answer: (request: ReceivedRequest, response: ServerResponse) => void;
  /** Creates a route for the path, with the service behind an agent as its backend. */
  route(path: string, modules: Readonly<Record<string, unknown>>): Promise<ApiBody>;
  startAgent(): Promise<OurAgent>;
  /** Calls the API and checks that it succeeds. */
  ok(method: string, path: string, body?: unknown): Promise<ApiBody>;
  /** Waits until the service has received `count` webhooks. */
  arrived(count: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startInboxWorld(options: Partial<PlatformOptions> = {}): Promise<InboxWorld> {
  const received: ReceivedRequest[] = [];
  const take = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const { method = "", url = "", headers } = incoming;
    const request = { method, url, headers, body: Buffer.concat(pieces), at: Date.now() };
    received.push(request);
    world.answer(request, response);
  };
  const service = await startHttpService((incoming, response) => {
    take(incoming, response).catch(() => response.destroy());
  });
  const platform = await startPlatform({ allowLocalUpstreams: true, ...options });
  const ok = async (method: string, path: string, body?: unknown): Promise<ApiBody> => {
    const answer = await platform.api(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const host = "hooks.example.com";
  const edge = await ok("POST", "/edges/https", { hostports: [`${host}:443`] });
  const backend = await ok("POST", "/backends/tunnel_group", { labels: { app: "hooks" } });
  const world: InboxWorld = {
    platform,
    host,
    servicePort: service.port,
    edgeId: edge.id,
    received,
    answer: (_request, response) => response.end("done"),
    route: (path, modules) =>
      ok("POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: path,
        backend: { enabled: true, backend_id: backend.id },
        ...modules,
      }),
    startAgent: () => platform.startAgent({ upstream: service.port, labels: { app: "hooks" } }),
    ok,
    async arrived(count) {
      await eventually(
        () => received.length,
        (length) => length >= count,
      );
    },
    async stop() {
      await platform.stop();
      await service.stop();
    },
  };
  return world;
}
