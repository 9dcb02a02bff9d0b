/**
 * The two halves of an exchange at the front: what the pipeline (`HttpExchange`) asks of the protocol that the
 * client speaks, and what that protocol tells the pipeline. HTTP/1.1 and HTTP/2 each implement `ClientSide`;
 * everything between is the same for both.
 *
 * Life of an exchange, as a protocol sees it:
 *
 * 1. It reads a head, checks what is its own to check (framing, pseudo-fields), and makes a `ReceivedRequest`.
 * 2. `const exchange = new HttpExchange(connection, clientSide, request); exchange.start()`.
 *    The answer may come before `start` returns.
 * 3. Body bytes go in by `exchange.requestBody(bytes)`, the end by `exchange.requestEnded(trailers)`, both also
 *    after the response has begun or ended. Bytes are not to be changed afterwards. No call for an empty body:
 *    `ReceivedRequest.bodyLength` 0 says so. The protocol keeps at most a window of bytes ahead of
 *    `requestConsumed`.
 * 4. `clientDrained` follows each `sendBody` that returned false. `clientGone` when the client went away or
 *    reset the stream; `requestFailed` when the body broke the protocol or came too slowly.
 * 5. The pipeline ends with exactly one of `sendEnd` or `abort`; no call after that, except `requestConsumed`.
 */
import type { FieldTable } from "../../http1/field-table.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import type { RefusalName } from "../../lib/errors.ts";

export interface ClientSide {
  /** An interim response before `sendHead`: 100, 102 or 103. Skipped where the protocol version has none. */
  sendInterim(status: number, fields: FieldTable | undefined): void;
  /**
   * The response head, once. `fields` is free of hop-by-hop fields and of Transfer-Encoding; it still holds the
   * Content-Length that describes the body (also of a body that HEAD leaves out). The protocol adds
   * `x-request-id: <requestId>`. `reason` is the upstream's reason phrase, or undefined for the usual one.
   *
   * `bodyLength` is what `sendBody` will be given in sum, or -1 when only the end will tell. Status 101 turns
   * both directions into raw bytes, of the protocol `upgradedTo`: no length, no framing, until `sendEnd`.
   */
  sendHead(
    status: number,
    reason: string | undefined,
    fields: FieldTable,
    bodyLength: number,
    requestId: TrafficId,
    upgradedTo?: string,
  ): void;
  /** Body bytes, by reference. False: hold on until `clientDrained` (these are taken all the same). */
  sendBody(bytes: Buffer): boolean;
  /** The response is complete. */
  sendEnd(trailers: FieldTable | undefined): void;
  /** The response cannot be completed: the client must see that it was cut short. */
  abort(): void;
  /** Request body bytes were taken on; that many more may be read. */
  requestConsumed(byteCount: number): void;
}

/** What `HttpExchange` offers to the protocol in front of it. */
export interface ExchangeInput {
  start(): void;
  requestBody(bytes: Buffer): void;
  requestEnded(trailers: FieldTable | undefined): void;
  /** Answered with the refusal when the response has not begun, else cut short. */
  requestFailed(reason: RefusalName): void;
  clientDrained(): void;
  clientGone(): void;
}
