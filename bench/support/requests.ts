/**
 * HTTP over one keep-alive connection each, for measurements that wrk does not support: fixed rates, bulk, single
 * requests.
 */
import { Agent, request } from "node:https";
import { Agent as PlainAgent, request as plainRequest } from "node:http";
import type { IncomingMessage, RequestOptions } from "node:http";
import { quantile } from "./report.ts";

export interface Target {
  readonly name: string;
  readonly port: number;
  /** Absent for plain HTTP. */
  readonly serverName?: string;
}

export function client(
  target: Target,
  connections = 8,
): {
  send(
    options: RequestOptions,
    body?: Iterable<Buffer>,
  ): Promise<{ readonly response: IncomingMessage; readonly bytes: number }>;
  close(): void;
} {
  const agent = target.serverName
    ? new Agent({ keepAlive: true, maxSockets: connections, rejectUnauthorized: false, servername: target.serverName })
    : new PlainAgent({ keepAlive: true, maxSockets: connections });
  const make = target.serverName ? request : plainRequest;
  return {
    send: (options, body) =>
      new Promise((resolve, reject) => {
        const sending = make(
          {
            host: "127.0.0.1",
            port: target.port,
            agent,
            headers: { host: target.serverName ?? "bench.localhost", ...(options.headers as object) },
            ...options,
          },
          (response) => {
            let bytes = 0;
            response.on("data", (chunk: Buffer) => (bytes += chunk.length));
            response.on("end", () => resolve({ response, bytes }));
            response.on("error", reject);
          },
        );
        sending.on("error", reject);
        if (!body) return void sending.end();
        const pieces = body[Symbol.iterator]();
        const more = (): void => {
          for (let next = pieces.next(); ; next = pieces.next()) {
            if (next.done) return void sending.end();
            if (!sending.write(next.value)) return void sending.once("drain", more);
          }
        };
        more();
      }),
    close: () => agent.destroy(),
  };
}

export interface Latency extends Readonly<Record<string, number>> {
  readonly "p50 ms": number;
  readonly "p99 ms": number;
}

/** Sends requests on schedule, regardless of earlier responses, until `work` ends, and for at least a second. */
export async function latencyUntil(work: Promise<unknown>, target: Target, perSecond: number): Promise<Latency> {
  const http = client(target, 16);
  const took: number[] = [];
  const under: Promise<unknown>[] = [];
  const state = { isOver: false };
  void work.finally(() => (state.isOver = true));
  const began = performance.now();
  for (let sent = 0; !state.isOver || sent < perSecond; sent += 1) {
    const wait = began + (sent * 1000) / perSecond - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const at = performance.now();
    under.push(http.send({ path: "/" }).then(() => took.push(performance.now() - at)));
  }
  await Promise.all(under);
  http.close();
  return { "p50 ms": quantile(took, 0.5), "p99 ms": quantile(took, 0.99) };
}
