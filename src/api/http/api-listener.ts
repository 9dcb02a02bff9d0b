/** The API's listener: Node's server with limits, from start to stop. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { drainOf } from "../../lib/http-drain.ts";
import { createServer } from "../../lib/http.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { ConnectionRefusals } from "./connection-refusals.ts";

export interface ListenerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly maxConnections: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly connectionRefusals: ConnectionRefusals;
  handle(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void;
}

export interface ApiListener {
  readonly address: AddressInfo;
  /** Closes each connection with its next response from now on, and accepts connections as before. */
  drain(): void;
  /** Rejects new connections. Resolves when the current requests are answered, after 5 s at the latest. */
  stop(): Promise<void>;
}

const stopTimeoutMs = 5_000;

/** Rejects if the address is in use. */
export async function startListener(options: ListenerOptions): Promise<ApiListener> {
  const { clock, log, connectionRefusals, handle } = options;
  const server = createServer(
    {
      maxHeaderSize: 16_384,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 2_000,
      insecureHTTPParser: false,
      requireHostHeader: false,
    },
    (request, response) => handle(request, response, false),
  );
  server.on("checkContinue", (request, response) => handle(request, response, true));
  // An unsupported expectation is rejected by the checks of the head.
  server.on("checkExpectation", (request, response) => handle(request, response, false));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => connectionRefusals.failed(error.code, socket));
  server.on("connect", (_request, socket) => connectionRefusals.connect(socket));
  // The size of the head is the limit. With a maximum number of fields, Node would silently drop fields.
  server.maxHeadersCount = 0;
  server.maxConnections = options.maxConnections;
  const drain = drainOf(server, clock);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.listen.port, options.listen.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  server.on("error", (error) => log.error("API listener failed", { error }));
  return {
    address: server.address() as AddressInfo,
    drain: () => drain.begin(),
    stop: () => drain.end(stopTimeoutMs),
  };
}
