import { preambleLength } from "./proxy-preamble.ts";
import type { StreamWatch } from "./stream-watch.ts";

/**
 * Observes a proxied HTTP/1 stream and reports its requests, without changing bytes. The server sends the next request
 * on a stream only after the response to the last one is complete. A request head therefore starts with the first bytes
 * after a response began, and a response head with the first bytes after a request, so bodies need not be parsed. Bytes
 * that do not look like a head are skipped.
 */
export interface WatchedRequest {
  readonly method: string;
  readonly target: string;
  /** 0 if the connection ended without a response. */
  readonly status: number;
  /** From the first bytes of the request to those of the response, milliseconds. */
  readonly durationMs: number;
  /** Monotonic time at which the response began or the connection ended. */
  readonly endedAt: number;
}

/** Longest examined part of a first line, bytes. */
const maxLineBytes = 2048;
const requestLine = /^([A-Z]{1,20}) (\S+) HTTP\/1\.[01]$/;
const cr = 13;

export class RequestWatch implements StreamWatch {
  readonly #monotonic: () => number;
  readonly #tell: (request: WatchedRequest) => void;
  /** Bytes of an incomplete PROXY header; undefined once it has passed. */
  #preamble: Buffer | undefined;
  #method = "";
  #target = "";
  #since = 0;

  constructor(monotonic: () => number, hasPreamble: boolean, tell: (request: WatchedRequest) => void) {
    this.#monotonic = monotonic;
    this.#tell = tell;
    this.#preamble = hasPreamble ? Buffer.alloc(0) : undefined;
  }

  /** Receives bytes on their way to the service. */
  fromServer(bytes: Buffer, at = this.#monotonic()): void {
    if (this.#preamble) return this.#readPreamble(Buffer.concat([this.#preamble, bytes]));
    if (this.#method !== "") return;
    const end = bytes.indexOf(cr);
    const line = requestLine.exec(bytes.toString("latin1", 0, Math.min(end < 0 ? bytes.length : end, maxLineBytes)));
    if (!line) return;
    this.#method = line[1] as string;
    this.#target = line[2] as string;
    this.#since = at;
  }

  /** Receives bytes on their way back. */
  fromService(bytes: Buffer, time = this.#monotonic()): void {
    if (this.#method === "") return;
    let at = 0;
    let status = statusAt(bytes, at);
    // Interim responses precede the final one (RFC 9110 §15.2). 101 is final.
    while (status >= 100 && status < 200 && status !== 101) {
      const end = bytes.indexOf("\r\n\r\n", at, "latin1");
      if (end < 0 || end + 4 >= bytes.length) return;
      at = end + 4;
      status = statusAt(bytes, at);
    }
    if (status > 0) this.#report(status, time);
  }

  /** Called when the stream has ended. */
  ended(): void {
    if (this.#method !== "") this.#report(0, this.#monotonic());
  }

  #readPreamble(held: Buffer): void {
    const length = preambleLength(held);
    this.#preamble = length === undefined ? held : undefined;
    if (length !== undefined && length < held.length) this.fromServer(held.subarray(length));
  }

  #report(status: number, endedAt: number): void {
    const [method, target] = [this.#method, this.#target];
    this.#method = "";
    this.#tell({ method, target, status, durationMs: endedAt - this.#since, endedAt });
  }
}

/** Returns the status of `HTTP/1.x NNN` at `at`, or 0. */
function statusAt(bytes: Buffer, at: number): number {
  if (bytes.length < at + 12 || bytes[at] !== 72 || bytes[at + 8] !== 32) return 0;
  const status =
    ((bytes[at + 9] as number) - 48) * 100 + ((bytes[at + 10] as number) - 48) * 10 + ((bytes[at + 11] as number) - 48);
  return status >= 100 && status <= 599 ? status : 0;
}
