/** An edge with one route, an agent and a service, for tests of real traffic on that route. */
import type { IncomingHttpHeaders, RequestListener, Server, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import type { EdgeOptions } from "../../src/edge/edge-options.ts";
import type { ResourceObject } from "../../src/schema/object.ts";
import { connectAgent } from "./agents.ts";
import type { TestAgent } from "./agents.ts";
import { movableClock } from "./clock.ts";
import type { MovableClock } from "./clock.ts";
import { startTestEdge } from "./edge.ts";
import type { TestEdge } from "./edge.ts";
import { readBody } from "./http-client.ts";
import type { Asked, AskOptions, Protocol } from "./http-client.ts";
import { newCredential } from "./objects.ts";
import { nodeCount } from "./node-count.ts";
import { startHttpService } from "./services.ts";
import { startTwoEdges } from "./two-edges.ts";

export const host = "app.example.com";
export const routeId = "edghtsrt_1";

/** A request as it reached the service. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface EdgeWithAgent {
  readonly edge: TestEdge;
  readonly agent: TestAgent;
  readonly clock: MovableClock;
  readonly token: string;
  /** Every request that reached the service. */
  readonly received: Received[];
  /** Sets the service's response from now on. If undefined: 200 and "served". */
  readonly answer: (handler: ((request: Received, response: ServerResponse) => void) | undefined) => void;
  /** The service's own server, for upgrades and for closing it. */
  readonly service: Server;
  readonly servicePort: number;
  readonly put: (kind: string, id: string, doc: Readonly<Record<string, unknown>>) => void;
  /** Replaces the route's modules. */
  readonly route: (blocks: Readonly<Record<string, unknown>>) => void;
  readonly ask: (protocol: Protocol, options?: Partial<AskOptions>) => Promise<Asked>;
  readonly connect: (protocol: Protocol, options?: Partial<AskOptions>) => Promise<TLSSocket>;
  readonly stop: () => Promise<void>;
}

export async function startEdgeWithAgent(options: Partial<EdgeOptions> = {}): Promise<EdgeWithAgent> {
  const clock = movableClock();
  const { token, object } = newCredential();
  const { edge, away, stop } = await startEdges([object], { clock, ...options });
  const received: Received[] = [];
  let handler: ((request: Received, response: ServerResponse) => void) | undefined;
  const service = await startHttpService(keeping(received, () => handler));
  const servicePort = service.port;
  const agent = await connectAgent(away, token, servicePort);
  await agent.label({ app: "web" });
  const put = (kind: string, id: string, doc: Readonly<Record<string, unknown>>): void => edge.put({ kind, id, doc });
  put("tunnel_group_backend", "bkdtg_1", { labels: { app: "web" } });
  put("https_edge", "edghts_1", { hostports: [`${host}:443`], mutual_tls: null, tls_termination: null });
  const route = (blocks: Readonly<Record<string, unknown>>): void =>
    put("https_edge_route", routeId, {
      edge_id: "edghts_1",
      match_type: "path_prefix",
      match: "/",
      backend: { enabled: true, backend_id: "bkdtg_1" },
      ...blocks,
    });
  route({});
  return {
    edge,
    agent,
    clock,
    token,
    received,
    answer: (given) => void (handler = given),
    service: service.server,
    servicePort,
    put,
    route,
    ask: (protocol, given = {}) => edge.ask(protocol, { host, ...given }),
    connect: (protocol, given = {}) => edge.connect(protocol, { host, ...given }),
    async stop() {
      agent.close();
      await service.stop();
      await stop();
    },
  };
}

/**
 * Starts one edge, or two edges of different nodes (POSTERN_TEST_NODES): visitors use one, and the agent `away` the
 * other.
 */
async function startEdges(
  objects: readonly ResourceObject[],
  options: Partial<EdgeOptions>,
): Promise<{ readonly edge: TestEdge; readonly away: TestEdge; stop(): Promise<void> }> {
  if (nodeCount === 1) {
    const edge = await startTestEdge(objects, options);
    return { edge, away: edge, stop: () => edge.edge.stop() };
  }
  const { tcpBind: _ofOne, ...ofBoth } = options;
  const both = await startTwoEdges(objects, ofBoth, "tls");
  const [edge, away] = both.edges;
  const remove = (kind: string, id: string): void => {
    for (const one of both.edges) one.remove(kind, id);
  };
  return { edge: { ...edge, put: both.put, remove }, away, stop: () => both.stop() };
}

function keeping(
  received: Received[],
  handler: () => ((request: Received, response: ServerResponse) => void) | undefined,
): RequestListener {
  return (request, response) => {
    void readBody(request).then(
      (body) => {
        const { method = "", url = "", headers, rawHeaders } = request;
        const one = { method, url, headers, rawHeaders, body };
        received.push(one);
        const answer = handler();
        if (answer) answer(one, response);
        else response.end("served");
      },
      () => response.destroy(),
    );
  };
}
