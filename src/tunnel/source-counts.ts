/** Tracks addresses that connect without authenticating, and limits each of them. */
import { readAddress } from "../lib/address.ts";
import type { Clock } from "../lib/clock.ts";
import type { TunnelLimits } from "./tunnel-limits.ts";

interface AddressCounts {
  unauthenticated: number;
  wrongTokens: number;
  /** Monotonic time at which the count of `wrongTokens` began. */
  since: number;
}

/** Above this number of addresses, those with only old wrong tokens are removed. */
const maxEntries = 50_000;

export class AddressBook {
  readonly #clock: Clock;
  readonly #limits: TunnelLimits;
  readonly #entries = new Map<string, AddressCounts>();
  #unauthenticated = 0;

  constructor(clock: Clock, limits: TunnelLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Whether to accept a connection from this address. Cheap enough to call before the TLS handshake. */
  admits(ip: string): boolean {
    if (this.#unauthenticated >= this.#limits.maxUnauthenticated) return false;
    const entry = this.#entries.get(networkOf(ip));
    if (!entry) return true;
    if (entry.unauthenticated >= this.#limits.maxUnauthenticatedPerAddress) return false;
    return entry.wrongTokens < this.#limits.maxWrongTokens || this.#isOld(entry);
  }

  connected(ip: string): void {
    this.#unauthenticated += 1;
    this.#entry(ip).unauthenticated += 1;
  }

  /** Call when the connection has authenticated or ended. */
  settled(ip: string): void {
    this.#unauthenticated -= 1;
    const key = networkOf(ip);
    const entry = this.#entries.get(key);
    if (!entry) return;
    entry.unauthenticated -= 1;
    if (entry.unauthenticated === 0 && entry.wrongTokens === 0) this.#entries.delete(key);
  }

  wrongToken(ip: string): void {
    const entry = this.#entry(ip);
    if (this.#isOld(entry)) {
      entry.wrongTokens = 0;
      entry.since = this.#clock.monotonic();
    }
    entry.wrongTokens += 1;
  }

  #entry(ip: string): AddressCounts {
    const key = networkOf(ip);
    let entry = this.#entries.get(key);
    if (!entry) {
      if (this.#entries.size >= maxEntries) this.#sweep();
      entry = { unauthenticated: 0, wrongTokens: 0, since: this.#clock.monotonic() };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #isOld(entry: AddressCounts): boolean {
    return this.#clock.monotonic() - entry.since >= this.#limits.wrongTokenWindowMs;
  }

  /** Removes old entries. If all are recent, removes the older half. */
  #sweep(): void {
    for (const [key, entry] of this.#entries) {
      if (entry.unauthenticated === 0 && this.#isOld(entry)) this.#entries.delete(key);
    }
    if (this.#entries.size < maxEntries) return;
    let left = maxEntries / 2;
    for (const [key, entry] of this.#entries) {
      if (left === 0) break;
      left -= 1;
      if (entry.unauthenticated === 0) this.#entries.delete(key);
    }
  }
}

/** Returns an IPv4 address, or the /64 network from which an IPv6 host can choose addresses. */
function networkOf(ip: string): string {
  const words = new Uint32Array(4);
  const family = readAddress(ip, words);
  return family === 6 ? `${words[0]}:${words[1]}` : String(words[0]);
}
