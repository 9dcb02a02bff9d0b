/**
 * Interfaces between the exchange pipeline (`HttpExchange`) and the client's protocol. HTTP/1.1 and HTTP/2 each
 * implement `ClientSide`. Everything behind it is the same for both protocols.
 *
 * Lifecycle of an exchange, as a protocol implementation sees it:
 *
 * 1. It reads a head, checks the protocol's rules (framing, pseudo-fields), and makes a `ReceivedRequest`.
 * 2. It calls `const exchange = new HttpExchange(connection, clientSide, request); exchange.start()`. The answer may
 *    arrive before `start` returns.
 * 3. It passes body bytes to `exchange.requestBody(bytes)` and the end to `exchange.requestEnded(trailers)`, also after
 *    the response has begun or ended. It must not change the bytes afterwards. It makes no call for an empty body,
 *    which `ReceivedRequest.bodyLength` 0 announces. It reads at most one window of bytes ahead of `requestConsumed`.
 * 4. It calls `clientDrained` after each `sendBody` that returned false. It calls `clientGone` when the client
 *    disconnected or reset the stream. It calls `requestFailed` when the body broke the protocol or arrived too slowly.
 * 5. The pipeline ends with exactly one call of `sendEnd` or `abort`. After that it calls only `requestConsumed`.
 */
import type { FieldTable } from "../../http1/field-table.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import type { RefusalName } from "../../lib/errors.ts";

export interface ClientSide {
  /**
   * Sends an interim response before `sendHead`: 100, 102 or 103. Skipped if the protocol version has no interim
   * responses.
   */
  sendInterim(status: number, fields: FieldTable | undefined): void;
  /**
   * Sends the response head. Called at most once. `fields` has no hop-by-hop fields and no Transfer-Encoding. It still
   * has the Content-Length of the body, also for HEAD. The protocol adds `x-request-id: <requestId>`. `reason` is the
   * upstream's reason phrase. Default: the standard phrase.
   *
   * `bodyLength` is the total number of bytes given to `sendBody`, or -1 if unknown. Status 101 turns both directions
   * into raw bytes of the protocol `upgradedTo`, without length or framing, until `sendEnd`.
   */
  sendHead(
    status: number,
    reason: string | undefined,
    fields: FieldTable,
    bodyLength: number,
    requestId: TrafficId,
    upgradedTo?: string,
  ): void;
  /**
   * Sends body bytes by reference. If it returns false, the bytes are accepted, but the caller must wait for
   * `clientDrained`.
   */
  sendBody(bytes: Buffer): boolean;
  /** Completes the response. */
  sendEnd(trailers: FieldTable | undefined): void;
  /** Cuts the response, so that the client sees that it is incomplete. */
  abort(): void;
  /** Called when request body bytes were consumed. The protocol may read that many more. */
  requestConsumed(byteCount: number): void;
}

/** Interface of `HttpExchange` for the client's protocol. */
export interface ExchangeInput {
  start(): void;
  requestBody(bytes: Buffer): void;
  requestEnded(trailers: FieldTable | undefined): void;
  /** Refuses the request if the response has not begun. Otherwise cuts the response short. */
  requestFailed(reason: RefusalName): void;
  clientDrained(): void;
  clientGone(): void;
}
