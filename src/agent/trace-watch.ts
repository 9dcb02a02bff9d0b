/**
 * Observes a proxied HTTP/1 stream and records a span for each request that belongs to a recorded trace, without changing
 * bytes. As in `RequestWatch`, a head starts with the first bytes after the other direction was active.
 */
import type { Clock } from "../lib/clock.ts";
import type { RecordedSpan, SpanRecorder } from "../lib/span-recorder.ts";
import { preambleLength } from "./proxy-preamble.ts";
import type { StreamWatch } from "./stream-watch.ts";

/** Longest examined part of a head, bytes. The server writes a head at once. */
const maxHeadBytes = 32 * 1024;
const requestLine = /^([A-Z]{1,20}) ([^ ?]+)\S* HTTP\/1\.[01]\r\n/;
const traceparentLine = /\r\ntraceparent: (00-[0-9a-f]{32}-[0-9a-f]{16}-01)\r\n/i;
const statusLine = /^HTTP\/1\.[01] ([1-5]\d\d)/;
const contentLength = /\r\ncontent-length: *(\d{1,15})\r\n/i;
const headEnd = "\r\n\r\n";

interface Watched {
  readonly method: string;
  readonly path: string;
  readonly traceparent: string;
  readonly startedAt: number;
  /** Milliseconds that the connection took, if it was opened for this request. */
  readonly dialMs: number | undefined;
  status: number;
  firstByteMs: number | undefined;
  /** When the last bytes came back. */
  lastAt: number;
  /** Bytes of the response that are still expected; undefined if its length is unknown. */
  left: number | undefined;
}

export interface TraceWatchOptions {
  readonly recorder: SpanRecorder;
  readonly clock: Pick<Clock, "now">;
  /** Name of the tunnel, and the service's address. */
  readonly tunnel: string;
  readonly service: string;
  readonly hasPreamble: boolean;
}

export class TraceWatch implements StreamWatch {
  readonly #options: TraceWatchOptions;
  readonly #openedAt: number;
  #dialMs: number | undefined;
  /** Bytes of an incomplete PROXY header; undefined once it has passed. */
  #preamble: Buffer | undefined;
  #request: Watched | undefined;
  /** The next bytes to the service begin a request. */
  #isIdle = true;

  constructor(options: TraceWatchOptions) {
    this.#options = options;
    this.#openedAt = options.clock.now();
    this.#preamble = options.hasPreamble ? Buffer.alloc(0) : undefined;
  }

  connected(): void {
    this.#dialMs = this.#options.clock.now() - this.#openedAt;
    if (this.#request) this.#request = { ...this.#request, dialMs: this.#dialMs };
  }

  fromServer(bytes: Buffer): void {
    if (this.#preamble) {
      const held = Buffer.concat([this.#preamble, bytes]);
      const length = preambleLength(held);
      this.#preamble = length === undefined ? held : undefined;
      if (length !== undefined && length < held.length) this.fromServer(held.subarray(length));
      return;
    }
    if (!this.#isIdle) return;
    this.#report();
    this.#isIdle = false;
    const head = bytes.toString("latin1", 0, Math.min(bytes.length, maxHeadBytes));
    const line = requestLine.exec(head);
    const traceparent = traceparentLine.exec(head)?.[1];
    const dialMs = this.#dialMs;
    this.#dialMs = undefined;
    if (!line || traceparent === undefined) return;
    const [, method = "", path = ""] = line;
    const startedAt = this.#options.clock.now();
    const noAnswer = { status: 0, firstByteMs: undefined, lastAt: startedAt, left: undefined };
    this.#request = { method, path, traceparent, startedAt, dialMs, ...noAnswer };
  }

  fromService(bytes: Buffer): void {
    this.#isIdle = true;
    const request = this.#request;
    if (!request) return;
    const now = this.#options.clock.now();
    request.lastAt = now;
    if (request.status !== 0) {
      if (request.left !== undefined) request.left -= bytes.length;
    } else this.#answered(request, bytes, now);
    if (request.left !== undefined && request.left <= 0) this.#report();
  }

  ended(error?: Error): void {
    this.#report(error?.message ?? "the connection ended without a response");
  }

  #answered(request: Watched, bytes: Buffer, now: number): void {
    const text = bytes.toString("latin1", 0, Math.min(bytes.length, maxHeadBytes));
    const status = Number(statusLine.exec(text)?.[1] ?? 0);
    // Interim responses precede the final one, usually in separate pieces.
    if (status < 200 && status !== 101) return;
    request.status = status;
    request.firstByteMs = now - request.startedAt;
    const end = text.indexOf(headEnd);
    const length = end < 0 ? undefined : contentLength.exec(text.slice(0, end + 2))?.[1];
    const hasNoBody = status === 204 || status === 304 || request.method === "HEAD";
    if (hasNoBody) request.left = 0;
    else if (length !== undefined) request.left = Number(length) - (bytes.length - end - headEnd.length);
  }

  #report(failure?: string): void {
    const request = this.#request;
    this.#request = undefined;
    if (request) this.#options.recorder.record(spanOf(request, this.#options, failure));
  }
}

function spanOf(
  { method, path, status, startedAt, lastAt, dialMs, firstByteMs, traceparent }: Watched,
  { tunnel, service }: TraceWatchOptions,
  failure: string | undefined,
): RecordedSpan {
  const isFailed = status === 0 || status >= 500;
  return {
    name: method,
    kind: "client",
    startedAt: startedAt - (dialMs ?? 0),
    endedAt: lastAt,
    error: isFailed ? ((status === 0 ? failure : undefined) ?? String(status)) : undefined,
    attributes: {
      "http.request.method": method,
      "url.path": path,
      "http.response.status_code": status === 0 ? undefined : status,
      "server.address": service,
      "postern.tunnel.name": tunnel,
      "postern.dial_ms": dialMs,
      "postern.first_byte_ms": firstByteMs,
    },
    traceparent,
  };
}
