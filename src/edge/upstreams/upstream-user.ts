/** Interface between an exchange and its connection to an upstream. */
import type { FieldTable } from "../../http1/field-table.ts";
import type { ResponseRead } from "../../http1/read-response.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

/** Interface of the exchange for its connection. */
export interface UpstreamUser {
  readonly exchange: Exchange;
  /** Whether the request may be sent twice without effect, and therefore over a stream that may be closing. */
  readonly isRepeatable: boolean;
  /** Maximum time to wait for the response head after the request. Default: the limit of the edge. */
  readonly responseTimeoutMs?: number | undefined;
  /** Gives the user the connection until `upstreamEnd` or `upstreamFailed`. The user calls `begin`. */
  upstreamReady(connection: UpstreamConnection, warm: boolean): void;
  upstreamInterim(status: number, fields: FieldTable): void;
  /** A `bodyLength` of -1 means unknown. */
  upstreamHead(head: ResponseRead, bodyLength: number): void;
  upstreamBody(bytes: Buffer): void;
  upstreamEnd(trailers: FieldTable | undefined): void;
  /**
   * Called when the user has lost the connection. `unused` is whether the upstream cannot have seen any of the request.
   */
  upstreamFailed(reason: RefusalName, unused: boolean, why?: string): void;
  upstreamDrained(): void;
  /** Called when a call to the user threw. Only this user ends, and it has lost the connection. */
  upstreamBroke(error: unknown): void;
}

/** Facts about a request that the connection needs to read its response. */
export interface RequestFraming {
  readonly isHead: boolean;
  readonly chunked: boolean;
  /** Whether the bytes given to `begin` are the complete request. */
  readonly complete: boolean;
}
