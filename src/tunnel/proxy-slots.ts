/**
 * Limits proxied streams per session (A3), and unaccepted streams per tunnel (A5), because more would block or end the
 * session. Further connections wait, and the tunnels take turns.
 */
import { runContained, reportFailure } from "../lib/boundary.ts";
import type { ByteStream } from "../lib/io/byte-stream.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { initialWindow } from "./mux/frame.ts";
import type { Mux } from "./mux/mux.ts";
import type { MuxStream, StreamWatcher } from "./mux/mux-stream.ts";
import { renderProxyHeader } from "./proxy-header.ts";
import type { NoStream, PendingStream, ProxyHeader, TakeStream } from "./server-hooks.ts";

export interface SlotLimits {
  readonly maxStreams: number;
  /** Includes closed streams that the agent may not have dropped yet. */
  readonly maxHeld: number;
  readonly maxUnaccepted: number;
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/** A connection that waits for a stream. */
class Waiter implements PendingStream {
  readonly header: ProxyHeader;
  readonly take: TakeStream;
  readonly until: number;
  readonly #slots: ProxySlots;

  constructor(slots: ProxySlots, header: ProxyHeader, take: TakeStream, until: number) {
    this.#slots = slots;
    this.header = header;
    this.take = take;
    this.until = until;
  }

  withdraw(): boolean {
    return this.#slots.withdraw(this);
  }
}

/**
 * A stream without bytes from either side gives no sign of acceptance. After this time it counts as accepted, because
 * silent visitors would otherwise block all others.
 */
const silentMs = 2000;

const lookAgainMs = 50;

/** Slots of one tunnel. */
class TunnelSlots implements StreamWatcher {
  readonly #slots: ProxySlots;
  /** Streams that the agent has not accepted, with their opening time. */
  readonly unaccepted = new Map<MuxStream, number>();
  /** In order of arrival. */
  readonly waiting = new Set<Waiter>();
  /** Whether the agent may not know the tunnel yet. */
  held = true;
  gone = false;

  constructor(slots: ProxySlots) {
    this.#slots = slots;
  }

  accepted(stream: MuxStream): void {
    this.unaccepted.delete(stream);
    this.#slots.freed();
  }

  released(): void {
    this.#slots.released();
  }

  forgotten(stream: MuxStream, afterMs: number): void {
    this.unaccepted.delete(stream);
    this.#slots.forgotten(afterMs);
  }
}

export class ProxySlots {
  readonly #mux: Mux;
  readonly #clock: Clock;
  readonly #limits: SlotLimits;
  readonly #tunnels = new Map<string, TunnelSlots>();
  /** Tunnels with waiting connections, in order of their turns. */
  #hungry: Set<TunnelSlots> | undefined;
  #waitingCount = 0;
  #openCount = 0;
  #heldCount = 0;
  /** Timers for streams that the agent has not dropped yet. */
  #drops: Set<Timer> | undefined;
  #serving = false;
  #lookAgain: Timer | undefined;

  constructor(mux: Mux, clock: Clock, limits: SlotLimits) {
    this.#mux = mux;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Number of open proxied streams. */
  get openCount(): number {
    return this.#openCount;
  }

  /**
   * Opens no streams before `release`. Visitors may find the tunnel before the agent does, and an agent resets streams
   * of unknown tunnels.
   */
  add(tunnelId: string): void {
    this.#tunnels.set(tunnelId, new TunnelSlots(this));
  }

  release(tunnelId: string): void {
    const slots = this.#tunnels.get(tunnelId);
    if (!slots?.held) return;
    slots.held = false;
    this.freed();
  }

  /** Waiting connections of the tunnel get no stream. */
  remove(tunnelId: string): void {
    const slots = this.#tunnels.get(tunnelId);
    if (!slots) return;
    slots.gone = true;
    this.#tunnels.delete(tunnelId);
    this.#hungry?.delete(slots);
    this.#waitingCount -= slots.waiting.size;
    const waiting = [...slots.waiting];
    slots.waiting.clear();
    for (const waiter of waiting) passStream(waiter.take, undefined, "tunnel_gone");
  }

  /** See `AgentSession.openProxy`. */
  open(header: ProxyHeader, take: TakeStream): PendingStream | undefined {
    const slots = this.#tunnels.get(header.tunnelId);
    if (!slots || this.#mux.over) passStream(take, undefined, "tunnel_gone");
    else if (slots.waiting.size === 0 && this.#hasRoom(slots)) this.#start(slots, header, take);
    else if (this.#waitingCount >= this.#limits.maxWaiting) passStream(take, undefined, "tunnel_busy");
    else return this.#wait(slots, header, take);
    return undefined;
  }

  /** Cancels the wait. Returns false if a stream was already opened. */
  withdraw(waiter: Waiter): boolean {
    const slots = this.#tunnels.get(waiter.header.tunnelId);
    if (!slots?.waiting.delete(waiter)) return false;
    this.#waitingCount -= 1;
    if (slots.waiting.size === 0) this.#hungry?.delete(slots);
    return true;
  }

  /** Call when the session has ended. */
  close(): void {
    this.#lookAgain?.cancel();
    this.#lookAgain = undefined;
    for (const drop of this.#drops ?? []) drop.cancel();
    this.#drops = undefined;
    for (const tunnelId of this.#tunnels.keys()) this.remove(tunnelId);
  }

  released(): void {
    this.#openCount -= 1;
    this.freed();
  }

  /** The agent drops a stream `afterMs` from now. */
  forgotten(afterMs: number): void {
    if (afterMs === 0 || this.#limits.maxHeld === Infinity) {
      this.#heldCount -= 1;
      this.freed();
      return;
    }
    const drop = this.#clock.after(afterMs, () => {
      this.#drops?.delete(drop);
      this.#heldCount -= 1;
      this.freed();
    });
    (this.#drops ??= new Set()).add(drop);
  }

  /** Call when a slot may be free for a waiting connection. */
  freed(): void {
    const hungry = this.#hungry;
    if (this.#serving || this.#waitingCount === 0 || !hungry) return;
    // A served connection may free a slot immediately. The loop handles that, so it is not entered again.
    this.#serving = true;
    try {
      this.#serve(hungry);
    } finally {
      this.#serving = false;
    }
  }

  #serve(hungry: Set<TunnelSlots>): void {
    let fruitless = 0;
    while (fruitless < hungry.size && !this.#isFull()) {
      const slots = hungry.values().next().value as TunnelSlots;
      hungry.delete(slots);
      const waiter = this.#hasRoom(slots) ? firstOf(slots.waiting) : undefined;
      if (waiter) slots.waiting.delete(waiter);
      if (slots.waiting.size > 0) hungry.add(slots);
      if (waiter) {
        fruitless = 0;
        this.#waitingCount -= 1;
        try {
          this.#start(slots, waiter.header, waiter.take);
        } catch (error) {
          reportFailure("stream", error);
          passStream(waiter.take, undefined, "tunnel_gone");
        }
      } else {
        fruitless += 1;
      }
    }
  }

  #isFull(): boolean {
    const { maxStreams, maxHeld } = this.#limits;
    return this.#openCount >= maxStreams || this.#heldCount >= maxHeld || this.#mux.over;
  }

  #hasRoom(slots: TunnelSlots): boolean {
    if (slots.held || slots.gone || this.#isFull()) return false;
    if (slots.unaccepted.size < this.#limits.maxUnaccepted) return true;
    const now = this.#clock.monotonic();
    for (const [stream, since] of slots.unaccepted) {
      if (now - since < silentMs) break;
      if (stream.acceptedAfter - 1 === initialWindow - stream.sendCredit) slots.unaccepted.delete(stream);
    }
    return slots.unaccepted.size < this.#limits.maxUnaccepted;
  }

  #wait(slots: TunnelSlots, header: ProxyHeader, take: TakeStream): Waiter {
    const waiter = new Waiter(this, header, take, this.#clock.monotonic() + this.#limits.maxWaitMs);
    slots.waiting.add(waiter);
    this.#waitingCount += 1;
    (this.#hungry ??= new Set()).add(slots);
    this.#lookLater();
    return waiter;
  }

  #start(slots: TunnelSlots, header: ProxyHeader, take: TakeStream): void {
    const stream = this.#mux.open();
    if (!stream) return passStream(take, undefined, "tunnel_gone");
    const text = renderProxyHeader(header);
    this.#openCount += 1;
    this.#heldCount += 1;
    stream.watcher = slots;
    stream.acceptedAfter = text.length + 1;
    slots.unaccepted.set(stream, this.#clock.monotonic());
    stream.writeLatin1(text);
    if (header.preamble) stream.write(header.preamble);
    passStream(take, stream);
  }

  /** Waits time out and silent streams become accepted without an event on the session, so a timer is needed. */
  #lookLater(): void {
    if (this.#lookAgain) return;
    this.#lookAgain = this.#clock.after(lookAgainMs, () => {
      this.#lookAgain = undefined;
      this.#expire();
      this.freed();
      if (this.#waitingCount > 0) this.#lookLater();
    });
  }

  #expire(): void {
    const now = this.#clock.monotonic();
    for (const slots of this.#hungry ?? []) {
      for (const waiter of slots.waiting) {
        if (waiter.until > now) break;
        if (this.withdraw(waiter)) passStream(waiter.take, undefined, "tunnel_busy");
      }
    }
  }
}

function firstOf<T>(set: ReadonlySet<T>): T | undefined {
  return set.values().next().value;
}

/** If a taker throws, only its stream ends. The session and other waiting connections continue. */
function passStream(take: TakeStream, stream: ByteStream | undefined, why?: NoStream): void {
  try {
    take(stream, why);
  } catch (error) {
    reportFailure("stream", error);
    stream?.abort();
    runContained("stream", () => take(undefined, "tunnel_gone"));
  }
}
