/**
 * The secret behind the TLS session tickets of this edge. All edges of a server or cluster have the same, so that a
 * session of one edge resumes at another.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Clock, Timer } from "../../lib/clock.ts";

export interface TicketSecret {
  /** Returns a key for one purpose. It changes with the secret. */
  key(purpose: string, bytes: number): Buffer;
  /** Calls `changed` after each change. */
  onChange(changed: () => void): void;
  /** Uses the secret of all edges from now on. */
  take(shared: Buffer): void;
  stop(): void;
}

/** Lifetime of a secret (K1). */
export const ticketSecretMs = 8 * 60 * 60 * 1000;
/** Additional time in which the next shared secret may arrive. */
const lateMs = 15 * 60 * 1000;

/** Until the first shared secret, and when no new one arrives, the edge uses random ones. */
export function makeTicketSecret(clock: Clock): TicketSecret {
  const listeners: (() => void)[] = [];
  let secret: Buffer;
  let end: Timer | undefined;
  const use = (next: Buffer, lifetimeMs: number): void => {
    secret = next;
    end?.cancel();
    end = clock.after(lifetimeMs, () => use(randomBytes(32), ticketSecretMs));
    for (const changed of listeners) changed();
  };
  use(randomBytes(32), ticketSecretMs);
  return {
    key: (purpose, bytes) => createHmac("sha512", secret).update(purpose).digest().subarray(0, bytes),
    onChange: (changed) => void listeners.push(changed),
    take(shared) {
      if (!shared.equals(secret)) use(shared, ticketSecretMs + lateMs);
    },
    stop: () => end?.cancel(),
  };
}
