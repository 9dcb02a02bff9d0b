/** Heartbeats (agent-protocol, "Streams"): four bytes there, the same four back, for ever on one stream. */
import { randomFillSync } from "node:crypto";
import type { ByteReceiver } from "../lib/byte-stream.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Mux } from "./mux/mux.ts";
import type { MuxStream } from "./mux/stream.ts";
import { streamType } from "./typed-stream.ts";

const beatLength = 4;
const heartbeatType = Buffer.alloc(4);
heartbeatType.writeUInt32BE(streamType.heartbeat);

/** Returns the peer's beats, whole, because Rust agents read each with a single call. */
export class HeartbeatEcho implements ByteReceiver {
  readonly #stream: MuxStream;
  readonly #beat = Buffer.alloc(beatLength);
  #length = 0;

  constructor(stream: MuxStream) {
    this.#stream = stream;
  }

  data(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += 1) {
      this.#beat[this.#length] = bytes[at] as number;
      this.#length += 1;
      if (this.#length < beatLength) continue;
      this.#length = 0;
      // A peer that sends beats and does not take their echoes loses those; its credit bounds neither.
      if (this.#stream.queued === 0) this.#stream.write(Buffer.from(this.#beat));
    }
    this.#stream.consumed(bytes.length);
  }

  /** Ours is ended too, since nothing will be echoed any more. */
  ended(): void {
    this.#stream.end();
  }

  drained(): void {}
  closed(): void {}
}

export interface HeartbeatOptions {
  readonly intervalMs: number;
  /** How long an echo may take. */
  readonly toleranceMs: number;
}

/**
 * Beats at once and then every interval, and measures round trips. The stream is never ended: that makes the echo
 * loop of Rust agents spin (§3).
 */
export class Heartbeat implements ByteReceiver {
  readonly #mux: Mux;
  readonly #clock: Clock;
  readonly #toleranceMs: number;
  readonly #late: () => void;
  readonly #stream: MuxStream | undefined;
  readonly #beats: Timer;
  #check: Timer | undefined;
  readonly #sent = Buffer.alloc(beatLength);
  #echoed = 0;
  #sentAt = 0;
  #bytesBefore = 0;
  /** Who asked whether the peer is there. */
  readonly #asking = new Set<(isThere: boolean) => void>();

  /** `late` is called once, when neither the echo nor anything else came within the tolerance. */
  constructor(mux: Mux, clock: Clock, options: HeartbeatOptions, late: () => void) {
    this.#mux = mux;
    this.#clock = clock;
    this.#toleranceMs = options.toleranceMs;
    this.#late = late;
    this.#stream = mux.open();
    this.#beats = clock.every(options.intervalMs, () => this.#beat());
    if (!this.#stream) return;
    this.#stream.receiver = this;
    this.#stream.write(heartbeatType);
    this.#beat();
  }

  /**
   * Beats at once, and calls `done` once: with true when the echo has come, and after `withinMs` with whether anything
   * came at all, since an echo queues behind what is being sent.
   */
  ask(withinMs: number, done: (isThere: boolean) => void): void {
    const before = this.#mux.bytesReceived;
    const tell = (isThere: boolean): void => {
      this.#asking.delete(tell);
      timer.cancel();
      done(isThere);
    };
    const timer = this.#clock.after(withinMs, () => tell(this.#mux.bytesReceived !== before));
    this.#asking.add(tell);
    if (this.#mux.over || !this.#stream) tell(false);
    else this.#beat();
  }

  stop(): void {
    this.#beats.cancel();
    this.#check?.cancel();
    this.#check = undefined;
    for (const tell of this.#asking) tell(false);
  }

  data(bytes: Buffer): void {
    this.#stream?.consumed(bytes.length);
    for (const byte of bytes) {
      if (this.#echoed === beatLength || byte !== this.#sent[this.#echoed]) return;
      this.#echoed += 1;
    }
    if (this.#echoed < beatLength || !this.#check) return;
    this.#check.cancel();
    this.#check = undefined;
    const tookMs = this.#clock.monotonic() - this.#sentAt;
    const windows = this.#mux.windows;
    windows.roundTripMs = windows.roundTripMs === 0 ? tookMs : Math.min(windows.roundTripMs, tookMs);
    for (const tell of this.#asking) tell(true);
  }

  ended(): void {}
  drained(): void {}

  /** Without the stream nothing more can be known of the peer. */
  closed(): void {
    this.stop();
    if (!this.#mux.over) this.#late();
  }

  #beat(): void {
    if (this.#check) return;
    randomFillSync(this.#sent);
    this.#echoed = 0;
    this.#sentAt = this.#clock.monotonic();
    this.#stream?.write(Buffer.from(this.#sent));
    this.#watch();
  }

  /** Waits out the tolerance, and again while anything at all comes: an echo queues behind what is being sent. */
  #watch(): void {
    this.#bytesBefore = this.#mux.bytesReceived;
    this.#check = this.#clock.after(this.#toleranceMs, () => {
      if (this.#mux.bytesReceived !== this.#bytesBefore) {
        this.#watch();
        return;
      }
      this.stop();
      this.#late();
    });
  }
}
