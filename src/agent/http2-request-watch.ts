/** Reports the requests on a connection to a service that speaks only HTTP/2, as `RequestWatch` does for HTTP/1.1. */
import { Http2Connection } from "./http2-connection.ts";
import type { Http2Fields, Http2Watch } from "./http2-connection.ts";
import type { WatchedRequest } from "./request-watch.ts";
import type { StreamWatch } from "./stream-watch.ts";

interface OpenRequest {
  readonly method: string;
  readonly target: string;
  readonly since: number;
}

export class Http2RequestWatch implements StreamWatch, Http2Watch {
  readonly #monotonic: () => number;
  readonly #tell: (request: WatchedRequest) => void;
  readonly #connection: Http2Connection;
  /** Requests without a response yet, by stream id. */
  readonly #waiting = new Map<number, OpenRequest>();

  constructor(monotonic: () => number, hasPreamble: boolean, tell: (request: WatchedRequest) => void) {
    this.#monotonic = monotonic;
    this.#tell = tell;
    this.#connection = new Http2Connection(this, hasPreamble);
  }

  fromServer(bytes: Buffer): void {
    this.#connection.fromServer(bytes);
  }

  fromService(bytes: Buffer): void {
    this.#connection.fromService(bytes);
  }

  ended(): void {
    this.#reportAll(0);
  }

  // Events of the connection.

  fields(isAsking: boolean, streamId: number, fields: Http2Fields): void {
    if (!isAsking) {
      const status = Number(fields.pseudo(":status"));
      // Interim responses precede the final one, and trailers have no status.
      if (status >= 200) this.#report(streamId, status);
      return;
    }
    const method = fields.pseudo(":method");
    if (method === undefined) return;
    this.#waiting.set(streamId, { method, target: fields.pseudo(":path") ?? "", since: this.#monotonic() });
  }

  data(): void {}

  streamEnds(isAsking: boolean, streamId: number): void {
    if (!isAsking) this.#report(streamId, 0);
  }

  streamReset(streamId: number): void {
    this.#report(streamId, 0);
  }

  ownAnswer(bytes: Buffer): void {
    this.#reportAll(Number(bytes.latin1Slice(9, 12)));
  }

  broken(): void {
    this.#reportAll(0);
  }

  #reportAll(status: number): void {
    for (const streamId of this.#waiting.keys()) this.#report(streamId, status);
  }

  #report(streamId: number, status: number): void {
    const waiting = this.#waiting.get(streamId);
    if (!waiting) return;
    this.#waiting.delete(streamId);
    const { method, target, since } = waiting;
    const endedAt = this.#monotonic();
    this.#tell({ method, target, status, durationMs: endedAt - since, endedAt });
  }
}
