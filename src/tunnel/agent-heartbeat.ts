/**
 * Heartbeats (agent-protocol, "Streams"): one side sends four bytes, the peer returns them. One stream serves all
 * heartbeats.
 */
import { randomFillSync } from "node:crypto";
import type { ByteReceiver } from "../lib/io/byte-stream.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { readUint32, writeUint32 } from "./mux/frame.ts";
import type { Mux } from "./mux/mux.ts";
import type { MuxStream } from "./mux/mux-stream.ts";
import type { SharedTimers } from "./shared-timers.ts";
import { streamType } from "./typed-stream.ts";

const beatLength = 4;
const heartbeatType = Buffer.alloc(4);
heartbeatType.writeUInt32BE(streamType.heartbeat);
/** Random bytes that are converted to a number. */
const chance = Buffer.alloc(beatLength);

/** Returns the bytes of a beat in a new buffer, because a stream may store them until it can send them. */
function beatBytes(beat: number): Buffer {
  const bytes = Buffer.allocUnsafe(beatLength);
  writeUint32(bytes, 0, beat);
  return bytes;
}

/** Returns the peer's beats. Each beat is written whole, because Rust agents read it with a single call. */
export class HeartbeatEcho implements ByteReceiver {
  readonly #stream: MuxStream;
  /** The received part of the beat. It is a number because a buffer per session would cost memory. */
  #beat = 0;
  #length = 0;

  constructor(stream: MuxStream) {
    this.#stream = stream;
  }

  data(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += 1) {
      this.#beat = (this.#beat << 8) | (bytes[at] as number);
      this.#length += 1;
      if (this.#length < beatLength) continue;
      this.#length = 0;
      // If a peer does not read the echoes, further echoes are dropped. Flow control limits neither direction here.
      if (this.#stream.queued === 0) this.#stream.write(beatBytes(this.#beat));
    }
    this.#stream.consumed(bytes.length);
  }

  /** End our side too, because no more echoes will follow. */
  ended(): void {
    this.#stream.end();
  }

  drained(): void {}
  closed(): void {}
}

export interface HeartbeatOptions {
  readonly intervalMs: number;
  /** Maximum time for an echo. */
  readonly toleranceMs: number;
  /**
   * Beats only after the peer has been silent for an interval. Any bytes of the peer, usually its own beats, show that
   * it is alive. A silent peer is still detected after interval plus tolerance. These timers detect the silence and may
   * be late by a step.
   */
  readonly inSilence?: SharedTimers;
}

/**
 * Time to wait for a late beat of the peer before sending our own, milliseconds. At most a quarter of the tolerance.
 */
const maxSlackMs = 1000;

/**
 * Beats immediately and then every interval, and measures round trips. The stream is never ended, because an end makes
 * the echo loop of Rust agents spin (§3).
 */
export class Heartbeat implements ByteReceiver {
  readonly #mux: Mux;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #toleranceMs: number;
  readonly #silence: SharedTimers | undefined;
  /** 0 if it beats regardless of the peer's bytes. */
  readonly #slackMs: number;
  readonly #late: () => void;
  readonly #stream: MuxStream | undefined;
  #next: Timer;
  #check: Timer | undefined;
  #sent = 0;
  #echoed = 0;
  #sentAt = 0;
  #bytesBefore = 0;
  /** Callers of `ask` that wait for a result. */
  #asking: Set<(isThere: boolean, tookMs?: number) => void> | undefined;

  /** `onLate` is called once if neither the echo nor other bytes arrive within the tolerance. */
  constructor(mux: Mux, clock: Clock, options: HeartbeatOptions, onLate: () => void) {
    this.#mux = mux;
    this.#clock = clock;
    this.#intervalMs = options.intervalMs;
    this.#toleranceMs = options.toleranceMs;
    this.#silence = options.inSilence;
    this.#slackMs = options.inSilence ? Math.min(maxSlackMs, options.toleranceMs / 4) : 0;
    this.#late = onLate;
    this.#stream = mux.open();
    this.#next = this.#wakeAfter(options.intervalMs);
    if (!this.#stream) return;
    this.#stream.receiver = this;
    this.#stream.write(heartbeatType);
    this.#beat();
  }

  /**
   * Beats immediately, and calls `done` once: when the echo arrives, with true and the round trip. Otherwise after
   * `withinMs`, with whether any bytes arrived, because an echo may queue behind other data.
   */
  ask(withinMs: number, done: (isThere: boolean, tookMs?: number) => void): void {
    const before = this.#mux.bytesReceived;
    const tell = (isThere: boolean, tookMs?: number): void => {
      this.#asking?.delete(tell);
      timer.cancel();
      done(isThere, tookMs);
    };
    const timer = this.#clock.after(withinMs, () => tell(this.#mux.bytesReceived !== before));
    (this.#asking ??= new Set()).add(tell);
    if (this.#mux.over || !this.#stream) tell(false);
    else this.#beat();
  }

  stop(): void {
    this.#next.cancel();
    this.#check?.cancel();
    this.#check = undefined;
    for (const tell of this.#asking ?? []) tell(false);
  }

  data(bytes: Buffer): void {
    this.#stream?.consumed(bytes.length);
    for (const byte of bytes) {
      if (this.#echoed === beatLength || byte !== ((this.#sent >>> (8 * (beatLength - 1 - this.#echoed))) & 0xff))
        return;
      this.#echoed += 1;
    }
    if (this.#echoed < beatLength || !this.#check) return;
    this.#check.cancel();
    this.#check = undefined;
    const tookMs = this.#clock.monotonic() - this.#sentAt;
    const windows = this.#mux.windows;
    windows.roundTripMs = windows.roundTripMs === 0 ? tookMs : Math.min(windows.roundTripMs, tookMs);
    for (const tell of this.#asking ?? []) tell(true, tookMs);
  }

  ended(): void {}
  drained(): void {}

  /** Without the stream, the peer can no longer be monitored. */
  closed(): void {
    this.stop();
    if (!this.#mux.over) this.#late();
  }

  #wakeAfter(delayMs: number): Timer {
    return (this.#silence ?? this.#clock).after(delayMs, this.#wake);
  }

  readonly #wake = (): void => {
    if (this.#mux.over) return;
    if (!this.#silence) {
      this.#beat(this.#toleranceMs);
      this.#next = this.#wakeAfter(this.#intervalMs);
      return;
    }
    const silentMs = this.#clock.monotonic() - this.#mux.heardAt;
    const lateMs = silentMs - this.#intervalMs - this.#slackMs;
    // A delay of this process beyond a step is not the peer's silence.
    if (lateMs >= 0) this.#beat(this.#toleranceMs - this.#slackMs - Math.min(lateMs, this.#silence.stepMs));
    this.#next = this.#wakeAfter(lateMs < 0 ? -lateMs : this.#intervalMs);
  };

  #beat(toleranceMs = this.#toleranceMs): void {
    if (this.#check) return;
    this.#sent = readUint32(randomFillSync(chance), 0) | 0;
    this.#echoed = 0;
    this.#sentAt = this.#clock.monotonic();
    this.#stream?.write(beatBytes(this.#sent));
    this.#watch(toleranceMs);
  }

  /** Waits for the tolerance, and again while any bytes arrive, because an echo may queue behind other data. */
  #watch(toleranceMs: number): void {
    this.#bytesBefore = this.#mux.bytesReceived;
    this.#check = this.#clock.after(toleranceMs, () => {
      if (this.#mux.bytesReceived !== this.#bytesBefore) {
        this.#watch(this.#toleranceMs);
        return;
      }
      this.stop();
      this.#late();
    });
  }
}
