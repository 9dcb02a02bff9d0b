/** What is remembered of addresses that connected without authenticating, so that each can do only so much of it. */
import { readAddress } from "../lib/address.ts";
import type { Clock } from "../lib/clock.ts";
import type { TunnelLimits } from "./limits.ts";

interface Entry {
  unauthenticated: number;
  wrongTokens: number;
  /** When `wrongTokens` began to be counted, monotonic. */
  since: number;
}

/** Addresses with nothing but old wrong tokens are swept out when there are more than this. */
const maxEntries = 50_000;

export class AddressBook {
  readonly #clock: Clock;
  readonly #limits: TunnelLimits;
  readonly #entries = new Map<string, Entry>();
  #unauthenticated = 0;

  constructor(clock: Clock, limits: TunnelLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Whether a connection from this address is heard at all; cheap, to be asked before the TLS handshake too. */
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

  /** The connection has authenticated or is over. */
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

  #entry(ip: string): Entry {
    const key = networkOf(ip);
    let entry = this.#entries.get(key);
    if (!entry) {
      if (this.#entries.size >= maxEntries) this.#sweep();
      entry = { unauthenticated: 0, wrongTokens: 0, since: this.#clock.monotonic() };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #isOld(entry: Entry): boolean {
    return this.#clock.monotonic() - entry.since >= this.#limits.wrongTokenWindowMs;
  }

  /** Drops what is old; when everything is recent, the half that came first. */
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

/** One IPv4 address, or the /64 that an IPv6 host may choose from. */
function networkOf(ip: string): string {
  const words = new Uint32Array(4);
  const family = readAddress(ip, words);
  return family === 6 ? `${words[0]}:${words[1]}` : String(words[0]);
}
