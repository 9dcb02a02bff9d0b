/** Several services behind one URL. Each request goes to the service with the longest matching path prefix. */

import type { Agent as HttpAgent, IncomingMessage, ServerResponse } from "node:http";
import { duplexPair, pipeline } from "node:stream";
import type { Duplex } from "node:stream";
import { catalogue } from "../lib/errors.ts";
import { Agent, request as requestHttp } from "../lib/http.ts";
import { describeServiceFault } from "./service-fault.ts";
import { localService } from "./local-service.ts";
import type { LocalService } from "./local-service.ts";
import { dialUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

export interface PathTarget {
  /** `/` or `/api`. Matches whole path segments. */
  readonly prefix: string;
  readonly upstream: Upstream;
}

/** Decides who may use the services. */
export interface Gate {
  /** More header fields of the response, names and values in turn; undefined for a request that is refused. */
  enter(request: IncomingMessage): readonly string[] | undefined;
  /** A request that entered has ended. */
  left(): void;
}

const open: Gate = { enter: () => [], left() {} };

/** @param targets services that speak HTTP/1.1 */
export function pathSwitch(targets: readonly PathTarget[], gate: Gate = open): LocalService {
  const longest = targets
    .toSorted((a, b) => b.prefix.length - a.prefix.length)
    .map(({ prefix, upstream }) => ({ prefix, upstream, agent: agentOf(upstream) }));
  const find = (url: string) => {
    const path = url.split("?", 1)[0] as string;
    return longest.find(({ prefix }) => prefix === "/" || path === prefix || path.startsWith(`${prefix}/`));
  };
  return localService({
    request(request, response) {
      const target = find(request.url ?? "/");
      const more = gate.enter(request);
      if (more) response.once("close", () => gate.left());
      if (!more) refuseRequest(response, 403, "This URL accepts one visitor, and another visitor already uses it.");
      else if (target) passRequest(target, request, response, more);
      else refuseRequest(response, 404, "No service is published at this path.");
    },
    upgrade(request, connection, head) {
      const target = find(request.url ?? "/");
      const more = gate.enter(request);
      if (more) connection.once("close", () => gate.left());
      if (more && target) passUpgrade(target, request, connection, head, more);
      else {
        const status = more ? "404 Not Found" : "403 Forbidden";
        connection.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
      }
    },
  });
}

type PathAgent = PathTarget & { readonly agent: HttpAgent };

/** Dials services in the same way as all other connections do. */
function agentOf(upstream: Upstream): HttpAgent {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 32 });
  agent.createConnection = () => {
    if (!upstream.local) return dialUpstream(upstream);
    const [here, there] = duplexPair();
    upstream.local.serve(there);
    return here;
  };
  return agent;
}

function requestTo({ agent }: PathAgent, { method, url, rawHeaders }: IncomingMessage) {
  // Forwarded in the received order and spelling, which the edge has checked.
  return requestHttp({
    agent,
    method,
    path: url,
    headers: rawHeaders as never,
    setHost: false,
    setDefaultHeaders: false,
  });
}

function passRequest(
  target: PathAgent,
  request: IncomingMessage,
  response: ServerResponse,
  extraLines: readonly string[],
): void {
  const onward = requestTo(target, request);
  onward.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, [...answer.rawHeaders, ...extraLines]);
    pipeline(answer, response, () => {});
  });
  onward.on("information", ({ statusCode }) => {
    if (statusCode === 100) response.writeContinue();
  });
  onward.on("error", (error) => {
    if (response.headersSent) response.destroy();
    else
      refuseRequest(
        response,
        502,
        `The agent could not reach the service at ${target.upstream.text}: ${describeServiceFault(target.upstream, error)}.`,
      );
  });
  response.on("close", () => {
    if (!response.writableFinished) onward.destroy();
  });
  pipeline(request, onward, () => {});
}

function passUpgrade(
  target: PathAgent,
  request: IncomingMessage,
  connection: Duplex,
  head: Buffer,
  extraLines: readonly string[],
): void {
  const onward = requestTo(target, request);
  onward.on("upgrade", (answer, socket, first) => {
    connection.write(renderHead(answer, extraLines));
    connection.write(first);
    socket.write(head);
    pipeline(connection, socket, connection, () => {});
  });
  onward.on("response", (answer) => {
    connection.write(renderHead(answer, extraLines));
    pipeline(answer, connection, () => {});
  });
  onward.on("error", () => connection.destroy());
  onward.end();
}

function renderHead({ statusCode, statusMessage, rawHeaders }: IncomingMessage, extraLines: readonly string[]): string {
  const all = [...rawHeaders, ...extraLines];
  const fields = all.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${all[at + 1]}`] : []));
  return `${[`HTTP/1.1 ${statusCode} ${statusMessage}`, ...fields].join("\r\n")}\r\n\r\n`;
}

function refuseRequest(response: ServerResponse, status: 403 | 404 | 502, text: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    ...(status === 502 && { "postern-agent-error": String(catalogue.agent_dial_failed.number) }),
  });
  response.end(`${text}\n`);
}
