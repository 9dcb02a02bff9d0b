import { BodyReader } from "../../http1/body-reader.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import { fault } from "../../http1/read-fields.ts";
import type { ResponseRead } from "../../http1/read-response.ts";
import { startResponseBody } from "../../http1/response-body.ts";
import { switchFault } from "../../http1/upgrade-request.ts";
import { writeChunk, writeLastChunk } from "../../http1/write-chunk.ts";
import { endUnit, reportFailure } from "../../lib/boundary.ts";
import { discardingReceiver } from "../../lib/io/byte-stream.ts";
import type { ByteReceiver, ByteStream } from "../../lib/io/byte-stream.ts";
import { LostStream, UnusedStream } from "../../lib/io/lost-stream.ts";
import { Refusal } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Timer } from "../../lib/clock.ts";
import type { Timed } from "../../lib/deadlines.ts";
import type { RosterMember } from "../../lib/collections/roster.ts";
import { ResponseHeads } from "./response-heads.ts";
import type { HeadRead } from "./response-heads.ts";
import type { UpstreamPool } from "./upstream-pool.ts";
import type { RequestFraming, UpstreamUser } from "./upstream-user.ts";

const opening = 0;
const awaitingHead = 1;
const readingBody = 2;
const upgraded = 3;
const idle = 4;
const closed = 5;
const asBytes = 6;

/** The client side of HTTP/1.1 on one stream. Carries one exchange after another and parses strictly (security W4). */
export class UpstreamConnection implements ByteReceiver, Timed, RosterMember {
  expiresAt: number;
  /** Time since which the connection has been idle, in `Deadlines.now`. Unspecified during an exchange. */
  idleSince: number;
  place = -1;
  readonly pool: UpstreamPool;
  /** Time to open the stream, milliseconds. */
  readonly dialDurationMs: number;
  /** The only client whose requests the connection may carry. "" for any client. */
  readonly client: string;
  readonly #stream: ByteStream;
  readonly #watch: Timer;
  readonly #body = new BodyReader();
  readonly #heads = new ResponseHeads();
  #state = opening;
  #user: UpstreamUser | undefined;
  #isHead = false;
  #chunkedOut = false;
  #sent = false;
  #received = false;
  #reusable = false;
  /** Whether one side of an upgraded exchange has ended. */
  #isLingering = false;
  /** Whether the end of one direction ends both: a WebSocket closes with messages (RFC 6455 §7.1). */
  #endsWhole = false;
  /** Bytes of a stream that does not speak HTTP. */
  #bytes: ByteStream | undefined;

  constructor(pool: UpstreamPool, stream: ByteStream, client: string, dialDurationMs: number) {
    this.pool = pool;
    this.dialDurationMs = dialDurationMs;
    this.client = client;
    this.#stream = stream;
    stream.receiver = this;
    const { deadlines, limits } = pool.options.context;
    this.idleSince = deadlines.now;
    this.expiresAt = this.idleSince + limits.idleStreamMs;
    this.#watch = deadlines.add(this);
  }

  /** Whether the upstream has sent any byte of a response to the current request. */
  get answered(): boolean {
    return this.#received;
  }

  /**
   * Returns the raw stream for its whole lifetime. Called in `upstreamReady` instead of `begin`. Later events go to the
   * stream's receiver and not to the user.
   */
  raw(): ByteStream {
    const stream = this.#stream;
    this.#state = asBytes;
    this.#touch();
    this.#bytes = {
      receiver: discardingReceiver,
      write: (bytes) => {
        this.#touch();
        return stream.write(bytes);
      },
      writeLatin1: (text) => stream.writeLatin1(text),
      end: () => stream.end(),
      abort: () => this.abort(),
      consumed: (byteCount) => stream.consumed(byteCount),
    };
    return this.#bytes;
  }

  /**
   * Sends a request's head and the available part of its body in one write. Returns false if the caller must wait for
   * `upstreamDrained`.
   */
  begin(user: UpstreamUser, bytes: Buffer, framing: RequestFraming): boolean {
    this.#user = user;
    this.#isHead = framing.isHead;
    this.#chunkedOut = framing.chunked;
    this.#sent = framing.complete;
    this.#received = false;
    this.#heads.expect();
    this.#state = awaitingHead;
    this.#await();
    return this.#stream.write(bytes);
  }

  /** Returns false if the caller must wait for `upstreamDrained`. */
  sendBody(bytes: Buffer): boolean {
    if (this.#state === awaitingHead) this.#await();
    else if (this.#state === upgraded) this.#moved();
    else this.#touch();
    return this.#chunkedOut ? writeChunk(this.#stream, bytes) : this.#stream.write(bytes);
  }

  /** Completes the request. On an upgraded connection, ends the client's direction. */
  endBody(trailers: FieldTable | undefined): void {
    this.#sent = true;
    if (this.#state === upgraded) this.#endUpgraded();
    else if (this.#chunkedOut) writeLastChunk(this.#stream, trailers);
    if (this.#state === awaitingHead) this.#await();
  }

  /** Called when bytes given to `upstreamBody` were consumed. */
  consumed(byteCount: number): void {
    this.#stream.consumed(byteCount);
  }

  /**
   * Releases an upgraded exchange whose sides have both ended. Bytes on their way still arrive within the remaining
   * time. The user gets no more calls.
   */
  letGo(): void {
    this.#user = undefined;
    this.pool.forget(this);
  }

  /** Ends the stream immediately, without a call to its user. */
  abort(): void {
    this.#close();
    this.#stream.abort();
  }

  /** Ends the idle stream after this time, unless it is used again before. */
  expireAfter(delayMs: number): void {
    this.expiresAt = this.idleSince + delayMs;
  }

  /** Ends an idle stream as finished, not as cut. */
  finish(): void {
    this.#close();
    this.#stream.end();
    this.#stream.abort();
  }

  /**
   * Ends the stream and reports the reason to the user.
   * @param unused whether the upstream has seen nothing of the request
   */
  fail(reason: RefusalName, why?: string, unused = false): void {
    const user = this.#user;
    const bytes = this.#bytes;
    this.abort();
    try {
      user?.upstreamFailed(reason, unused, why);
    } catch (error) {
      user?.upstreamBroke(error);
    }
    bytes?.receiver.closed(reason === "tunnel_gone" ? new LostStream(reason) : new Error(reason));
  }

  expired(): void {
    if (this.#bytes !== undefined) this.fail("upstream_timeout");
    else if (this.#user === undefined) this.finish();
    else if (this.#state === awaitingHead) this.fail("upstream_timeout", this.#lateHead());
    else this.fail("upstream_timeout");
  }

  /** Ends the stream and only its exchange. */
  broke(error: unknown): void {
    const user = this.#user;
    const bytes = this.#bytes;
    this.abort();
    if (bytes !== undefined) endUnit("stream", bytes.receiver, error);
    else if (user === undefined) reportFailure("stream", error);
    else user.upstreamBroke(error);
    bytes?.receiver.closed(new Error("stream failed"));
  }

  data(bytes: Buffer): void {
    switch (this.#state) {
      case awaitingHead:
        this.#received = true;
        this.#readHead(bytes);
        return;
      case readingBody:
        this.#touch();
        this.#readBody(bytes, 0);
        return;
      case upgraded:
        this.#moved();
        this.#user?.upstreamBody(bytes);
        return;
      case asBytes:
        this.#touch();
        this.#bytes?.receiver.data(bytes);
        return;
      case closed:
        return;
      default:
        // No request is pending, so these bytes would be taken for the next response.
        this.abort();
    }
  }

  ended(): void {
    if (this.#bytes !== undefined) this.#bytes.receiver.ended();
    else if (this.#state === upgraded) {
      this.#linger();
      this.#user?.upstreamEnd(undefined);
    } else if (this.#state === readingBody && this.#body.untilClose) this.#complete();
    else if (this.#user === undefined) this.finish();
    else this.fail("upstream_refused");
  }

  drained(): void {
    if (this.#state === upgraded) this.#moved();
    else if (this.#state === awaitingHead) this.#await();
    else this.#touch();
    this.#bytes?.receiver.drained();
    this.#user?.upstreamDrained();
  }

  /** A request that may be repeated goes elsewhere. Others wait, because the upstream may have begun them. */
  stalled(): void {
    if (this.#state === idle) this.finish();
    else if (this.#state === awaitingHead && !this.#received && this.#user?.isRepeatable) this.fail("tunnel_gone");
  }

  closed(error: Error | undefined): void {
    if (this.#state === closed) return;
    const bytes = this.#bytes;
    if (bytes !== undefined) {
      this.#close();
      bytes.receiver.closed(error);
    } else if (error === undefined && this.#state === readingBody && this.#body.untilClose) this.#complete();
    else if (error instanceof UnusedStream) this.fail(error.reason, error.message, !this.#received);
    else if (error instanceof LostStream && this.#endsWhole) this.fail("tunnel_gone");
    else if (error instanceof Refusal)
      this.fail(error.reason, error.reason === "upstream_invalid" ? describeInvalid(error.message) : error.message);
    else this.fail("upstream_refused");
  }

  #readHead(bytes: Buffer): void {
    const read = this.#heads.read(bytes, this.pool.options.context.limits, (status, fields) => {
      this.#user?.upstreamInterim(status, fields);
      return this.#state === awaitingHead;
    });
    if (typeof read === "string") this.#refuse(read);
    else if (read === undefined) {
      if (this.#state === awaitingHead) this.#stream.consumed(bytes.length);
    } else {
      // Body bytes are credited when they are forwarded. The rest of the chunk is credited now.
      this.#stream.consumed(bytes.length - (read.bytes.length - read.end));
      this.#begin(read);
    }
  }

  #begin({ head, bytes, end: at }: HeadRead): void {
    if (head.status === 101) {
      this.#upgrade(head, bytes, at);
      return;
    }
    const { length, leavesReusable } = startResponseBody(this.#body, head, this.#isHead);
    this.#reusable = leavesReusable;
    this.#state = readingBody;
    this.#touch();
    this.#user?.upstreamHead(head, length);
    if (this.#state !== readingBody) return;
    if (this.#body.done) this.#completeAt(bytes, at);
    else if (at < bytes.length) this.#readBody(bytes, at);
  }

  #upgrade(head: ResponseRead, bytes: Buffer, at: number): void {
    const request = this.#user?.exchange.request;
    const fault = request && switchFault(head.fields, request);
    if (fault !== undefined || !this.#sent) {
      this.#refuse(fault ?? "a 101 before the end of the request");
      return;
    }
    this.#endsWhole = request?.websocket === true;
    this.#state = upgraded;
    this.#chunkedOut = false;
    this.#reusable = false;
    this.#touch();
    this.#user?.upstreamHead(head, -1);
    if (this.#state === upgraded && at < bytes.length) this.#user?.upstreamBody(bytes.subarray(at));
  }

  #readBody(bytes: Buffer, start: number): void {
    const body = this.#body;
    let at = start;
    let credit = 0;
    while (at < bytes.length && !body.done) {
      const from = at;
      at = body.step(bytes, at);
      if (at < 0) {
        this.#refuse(fault);
        return;
      }
      const { pieceStart, pieceEnd } = body;
      credit += at - from - (pieceEnd - pieceStart);
      if (pieceEnd === pieceStart) continue;
      this.#user?.upstreamBody(
        pieceStart === 0 && pieceEnd === bytes.length ? bytes : bytes.subarray(pieceStart, pieceEnd),
      );
      if (this.#state !== readingBody) return;
    }
    if (credit > 0) this.#stream.consumed(credit);
    if (body.done) this.#completeAt(bytes, at);
  }

  /** Bytes after the response belong to no request. The response is valid, but the stream is no longer trusted. */
  #completeAt(bytes: Buffer, end: number): void {
    if (end < bytes.length) this.#reusable = false;
    this.#complete();
  }

  #complete(): void {
    const user = this.#user;
    const { trailers } = this.#body;
    if (this.#reusable && this.#sent) {
      this.#state = idle;
      this.#user = undefined;
      const { deadlines, limits } = this.pool.options.context;
      this.idleSince = deadlines.now;
      this.expiresAt = this.idleSince + limits.idleStreamMs;
      // Release first, so that a request that this end allows to start finds the stream warm.
      this.pool.release(this);
    } else this.finish();
    try {
      user?.upstreamEnd(trailers);
    } catch (error) {
      user?.upstreamBroke(error);
    }
  }

  #refuse(reason: string): void {
    const { log } = this.pool.options.context;
    log.info("upstream response rejected", { reason, request: this.#user?.exchange.id });
    this.fail("upstream_invalid", describeInvalid(reason));
  }

  /** Restarts the upstream's response time while the request is still being sent. */
  #await(): void {
    const { deadlines, limits } = this.pool.options.context;
    this.expiresAt = deadlines.now + (this.#user?.responseTimeoutMs ?? limits.upstreamTimeoutMs);
  }

  #lateHead(): string {
    const timeoutMs = this.#user?.responseTimeoutMs ?? this.pool.options.context.limits.upstreamTimeoutMs;
    return `the upstream did not begin its response within ${timeoutMs / 1000} s`;
  }

  #touch(): void {
    const { deadlines, limits } = this.pool.options.context;
    this.expiresAt = deadlines.now + limits.idleTimeoutMs;
  }

  /** Ends the client's direction. */
  #endUpgraded(): void {
    this.#stream.end();
    this.#linger();
  }

  #linger(): void {
    if (this.#isLingering) return;
    this.#isLingering = true;
    this.#waitForEnd();
  }

  #waitForEnd(): void {
    const { deadlines, limits } = this.pool.options.context;
    this.expiresAt = deadlines.now + limits.lingerMs;
  }

  /** Called when bytes of an upgraded exchange moved in either direction. */
  #moved(): void {
    if (!this.#isLingering) this.#touch();
    else if (!this.#endsWhole) this.#waitForEnd();
  }

  #close(): void {
    if (this.#state === closed) return;
    this.#state = closed;
    this.#user = undefined;
    this.#bytes = undefined;
    this.#watch.cancel();
    this.pool.forget(this);
  }
}

function describeInvalid(why: string): string {
  return `the upstream's response is not valid: ${why}`;
}
