/** What an exchange and the connection that carries it to an upstream tell each other. */
import type { FieldTable } from "../../http1/field-table.ts";
import type { ResponseRead } from "../../http1/read-response.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

/** The exchange that uses a connection, as the connection sees it. */
export interface UpstreamUser {
  readonly exchange: Exchange;
  /** Nobody can tell when it is sent twice: it may go over a stream that is perhaps being closed. */
  readonly isRepeatable: boolean;
  /** How long it waits for the response head once the request is sent; the edge's limit unless given. */
  readonly responseTimeoutMs?: number | undefined;
  /** The connection is the user's until `upstreamEnd` or `upstreamFailed`; it calls `begin`. */
  upstreamReady(connection: UpstreamConnection, warm: boolean): void;
  upstreamInterim(status: number, fields: FieldTable): void;
  /** `bodyLength` -1 when only the end will tell. */
  upstreamHead(head: ResponseRead, bodyLength: number): void;
  upstreamBody(bytes: Buffer): void;
  upstreamEnd(trailers: FieldTable | undefined): void;
  /** The connection is lost to the user. `unused`: the upstream cannot have seen any of the request. */
  upstreamFailed(reason: RefusalName, unused: boolean, why?: string): void;
  upstreamDrained(): void;
  /** What the user was told made it throw: it ends alone, and the connection is lost to it. */
  upstreamBroke(error: unknown): void;
}

/** What the connection must know of a request to read its response. */
export interface RequestFraming {
  readonly isHead: boolean;
  readonly chunked: boolean;
  /** The request is complete in what `begin` is given. */
  readonly complete: boolean;
}
