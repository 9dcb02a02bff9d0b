import { contextRoom } from "../tls/context-room.ts";

/** Bounds on public connections before they carry a request (D2, D4). */
export interface ListenerLimits {
  /** Open at once on one listener; lowered to what the process has file descriptors for. */
  readonly connections: number;
  /** Open at once from one address, or one /64 of IPv6. Not for loopback, where proxies stand for many. */
  readonly connectionsPerSource: number;
  /** HTTPS connections open at once to the edges and endpoints of one account. */
  readonly connectionsPerAccount: number;
  /** New ones from one address: this many a second, ten times as many in a burst. Not for loopback. */
  readonly openingsPerSecond: number;
  /** Edges of this process, which share its file descriptors. */
  readonly edges: number;
  /** TLS contexts that are kept, of the sites whose visitors came last. */
  readonly contexts: number;
  /** From accept to a whole ClientHello (K3). */
  readonly helloTimeoutMs: number;
  /** From the ClientHello to the end of the handshake. */
  readonly handshakeTimeoutMs: number;
}

export const defaultListenerLimits: ListenerLimits = Object.freeze({
  connections: 50_000,
  connectionsPerSource: 1000,
  connectionsPerAccount: 20_000,
  openingsPerSecond: 100,
  contexts: contextRoom(),
  edges: 1,
  helloTimeoutMs: 5000,
  handshakeTimeoutMs: 10_000,
});
