import { reportFailure } from "../lib/boundary.ts";
import type { ByteReceiver, ByteStream } from "../lib/io/byte-stream.ts";
import { LostStream } from "../lib/io/lost-stream.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { binaryHead, closeCodes, closeFrame, FrameReader, pongFrame } from "./websocket-frames.ts";

/** Maximum time for a client to respond to a close, milliseconds. */
const closeTimeoutMs = 5000;
/** Maximum number of queued pongs while the client reads nothing. Further pings are not answered. */
const maxHeldPongs = 8;

/** Connects a WebSocket client to a byte stream. Binary messages become bytes, and bytes become binary messages. */
export function joinWebSocketToTcp(client: ByteStream, upstream: ByteStream, clock: Clock): void {
  new Join(client, upstream, clock).start();
}

class Join {
  readonly #client: ByteStream;
  readonly #upstream: ByteStream;
  readonly #clock: Clock;
  readonly #reader: FrameReader;
  /** Bytes received from one side that the other has not accepted yet. */
  #owedToClient = 0;
  #owedToUpstream = 0;
  #upstreamFree = true;
  #clientFree = true;
  #heldPongs = 0;
  #closeSent = false;
  #over = false;
  #timer: Timer | undefined;

  constructor(client: ByteStream, upstream: ByteStream, clock: Clock) {
    this.#client = client;
    this.#upstream = upstream;
    this.#clock = clock;
    this.#reader = new FrameReader({
      binary: (bytes) => {
        if (!this.#closeSent && bytes.length > 0 && !this.#upstream.write(bytes)) this.#upstreamFree = false;
      },
      ping: (payload) => this.#pong(payload),
      closed: (code) => this.#clientCloses(code),
    });
  }

  start(): void {
    this.#client.receiver = this.#fromClient();
    this.#upstream.receiver = this.#fromUpstream();
  }

  #fromClient(): ByteReceiver {
    return {
      data: (bytes) => {
        if (this.#over) return;
        const wrong = this.#reader.push(bytes);
        if (wrong !== undefined) return this.#fail(wrong);
        if (this.#over) return;
        if (this.#upstreamFree) this.#client.consumed(bytes.length);
        else this.#owedToClient += bytes.length;
      },
      // Without a close frame, the last message may be incomplete.
      ended: () => this.#finish(),
      drained: () => {
        if (this.#over) return;
        this.#clientFree = true;
        this.#heldPongs = 0;
        this.#upstream.consumed(this.#owedToUpstream);
        this.#owedToUpstream = 0;
      },
      closed: () => this.#finish(),
    };
  }

  #fromUpstream(): ByteReceiver {
    return {
      data: (bytes) => {
        if (this.#over || this.#closeSent) return this.#upstream.consumed(bytes.length);
        this.#client.write(binaryHead(bytes.length));
        if (!this.#client.write(bytes)) this.#clientFree = false;
        if (this.#clientFree) this.#upstream.consumed(bytes.length);
        else this.#owedToUpstream += bytes.length;
      },
      ended: () => this.#close(closeCodes.normal),
      drained: () => {
        if (this.#over) return;
        this.#upstreamFree = true;
        this.#client.consumed(this.#owedToClient);
        this.#owedToClient = 0;
      },
      closed: (error) => this.#close(codeOf(error)),
      // A frame may be partly written, so nothing can follow it.
      broke: (error) => {
        reportFailure("stream", error);
        this.#finish();
      },
    };
  }

  #pong(payload: Buffer): void {
    if (this.#closeSent || this.#heldPongs >= maxHeldPongs) return;
    if (!this.#client.write(pongFrame(payload))) this.#clientFree = false;
    if (!this.#clientFree) this.#heldPongs += 1;
  }

  /** The client has closed. The upstream still receives all data, but its own data can no longer be delivered. */
  #clientCloses(code: number): void {
    if (!this.#closeSent) this.#client.write(closeFrame(code));
    this.#over = true;
    this.#timer?.cancel();
    this.#client.end();
    this.#upstream.end();
    this.#upstream.consumed(this.#owedToUpstream);
    this.#clock.after(closeTimeoutMs, () => {
      this.#client.abort();
      this.#upstream.abort();
    });
  }

  /** Sends a close frame and waits a limited time for the response (RFC 6455 §7.1.1). */
  #close(code: number): void {
    if (this.#over || this.#closeSent) return;
    this.#closeSent = true;
    this.#client.write(closeFrame(code));
    // Bytes that arrive before the client's response are discarded.
    this.#upstreamFree = true;
    this.#client.consumed(this.#owedToClient);
    this.#owedToClient = 0;
    this.#timer = this.#clock.after(closeTimeoutMs, () => this.#finish());
  }

  #fail(code: number): void {
    if (!this.#closeSent) this.#client.write(closeFrame(code));
    this.#over = true;
    this.#timer?.cancel();
    this.#client.end();
    this.#upstream.abort();
    this.#clock.after(closeTimeoutMs, () => this.#client.abort());
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.cancel();
    this.#client.abort();
    this.#upstream.abort();
  }
}

/** Returns the close code for the end of the upstream. */
function codeOf(error: Error | undefined): number {
  if (error === undefined) return closeCodes.normal;
  return error instanceof LostStream ? closeCodes.goingAway : closeCodes.internal;
}
