/** Captures traffic of a connection to a service that speaks only HTTP/2, as `ExchangeReader` does for HTTP/1.1. */
import { Http2Connection } from "../agent/http2-connection.ts";
import type { Http2Fields, Http2Watch } from "../agent/http2-connection.ts";
import type { StreamWatch } from "../agent/stream-watch.ts";
import { beginExchange, clientOf } from "./begin-exchange.ts";
import type { FollowOptions } from "./begin-exchange.ts";
import { BodyCopy } from "./inspected-exchange.ts";
import type { CapturedResponse, InspectedExchange } from "./inspected-exchange.ts";

const headEnd = "\r\n\r\n";
const none = Buffer.alloc(0);

export class Http2Reader implements StreamWatch, Http2Watch {
  readonly #options: FollowOptions;
  readonly #begun: ((exchange: InspectedExchange) => void) | undefined;
  readonly #connection: Http2Connection;
  /** Requests without a complete response, by stream id. */
  readonly #open = new Map<number, InspectedExchange>();

  /** @param begun called with each request */
  constructor(options: FollowOptions, begun?: (exchange: InspectedExchange) => void) {
    this.#options = options;
    this.#begun = begun;
    this.#connection = new Http2Connection(this, options.hasPreamble);
  }

  connected(): void {
    const now = this.#options.clock.monotonic();
    for (const exchange of this.#open.values()) exchange.connectedMs = now - exchange.since;
  }

  fromServer(bytes: Buffer): void {
    this.#connection.fromServer(bytes);
  }

  fromService(bytes: Buffer): void {
    this.#connection.fromService(bytes);
  }

  ended(): void {
    for (const [streamId, exchange] of this.#open) this.#end(streamId, exchange, "cut");
  }

  // Events of the connection.

  fields(isAsking: boolean, streamId: number, fields: Http2Fields, isLast: boolean): void {
    const lines = Buffer.from(fields.lines);
    const exchange = this.#open.get(streamId);
    if (!exchange) {
      if (isAsking) this.#begin(streamId, fields, lines);
    } else if (!isAsking && !exchange.response) {
      const status = Number(fields.pseudo(":status"));
      // Interim responses precede the final one.
      if (!(status >= 200)) return;
      this.#answer(exchange, status, headOf(`HTTP/2.0 ${status}`, lines));
    } else if (!isAsking && exchange.response) {
      exchange.response.trailers = lines;
    }
    if (isLast) this.streamEnds(isAsking, streamId);
  }

  data(isAsking: boolean, streamId: number, bytes: Buffer): void {
    const exchange = this.#open.get(streamId);
    const body = isAsking ? exchange?.body : exchange?.response?.body;
    if (!exchange || !body) return;
    const { store } = this.#options;
    const held = body.add(bytes, 0, bytes.length, store.has(exchange));
    if (held > 0) store.grew(exchange, held);
    store.changed(exchange);
  }

  streamEnds(isAsking: boolean, streamId: number): void {
    const exchange = this.#open.get(streamId);
    if (!exchange) return;
    if (isAsking) exchange.body.ended = true;
    else if (exchange.response) {
      exchange.response.body.ended = true;
      this.#end(streamId, exchange, "complete");
    }
    this.#options.store.changed(exchange);
  }

  streamReset(streamId: number): void {
    const exchange = this.#open.get(streamId);
    if (exchange) this.#end(streamId, exchange, "cut");
  }

  /** The agent's own response arrives in one piece. */
  ownAnswer(bytes: Buffer): void {
    const end = bytes.indexOf(headEnd) + headEnd.length;
    for (const [streamId, exchange] of this.#open) {
      const status = Number(bytes.latin1Slice(9, 12));
      const { body } = this.#answer(exchange, status, Buffer.from(bytes.subarray(0, end)));
      this.#options.store.grew(exchange, body.add(bytes, end, bytes.length, true));
      body.ended = true;
      this.#end(streamId, exchange, "complete");
    }
  }

  broken(reason: string): void {
    for (const [streamId, exchange] of this.#open) {
      exchange.fault = reason;
      this.#end(streamId, exchange, "unreadable");
    }
  }

  #begin(streamId: number, fields: Http2Fields, lines: Buffer): void {
    const { clock, store } = this.#options;
    const method = fields.pseudo(":method") ?? "";
    const target = fields.pseudo(":path") ?? "";
    const authority = fields.pseudo(":authority");
    const host = authority === undefined ? none : Buffer.from(`host: ${authority}\r\n`, "latin1");
    const forwardedFor = /^x-forwarded-for: (.*)\r$/m.exec(lines.toString("latin1"))?.[1];
    const exchange = beginExchange(this.#options, store.take(), {
      at: clock.now(),
      since: clock.monotonic(),
      client: clientOf(forwardedFor),
      method,
      target,
      head: headOf(`${method} ${target} HTTP/2.0`, Buffer.concat([host, lines])),
    });
    this.#open.set(streamId, exchange);
    this.#begun?.(exchange);
  }

  #answer(exchange: InspectedExchange, status: number, bytes: Buffer): CapturedResponse {
    const { clock, store } = this.#options;
    const firstByteMs = clock.monotonic() - exchange.since;
    const response: CapturedResponse = { status, head: bytes, body: new BodyCopy(), firstByteMs };
    exchange.response = response;
    store.grew(exchange, bytes.length);
    store.changed(exchange);
    return response;
  }

  #end(streamId: number, exchange: InspectedExchange, outcome: InspectedExchange["outcome"]): void {
    const { clock, store } = this.#options;
    this.#open.delete(streamId);
    exchange.outcome = outcome;
    exchange.durationMs = clock.monotonic() - exchange.since;
    store.changed(exchange);
  }
}

function headOf(first: string, lines: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${first}\r\n`, "latin1"), lines, Buffer.from("\r\n")]);
}
