/**
 * HTTP over one keep-alive connection each, for measurements that wrk does not support: fixed rates, bulk, single
 * requests.
 */
import { Agent, request } from "node:https";
import { Agent as PlainAgent, request as plainRequest } from "node:http";
import type { IncomingMessage, RequestOptions } from "node:http";

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
