import { contextRoom } from "../tls/context-room.ts";

/** Limits of public connections before they carry a request (D2, D4). */
export interface ListenerLimits {
  /** Maximum number of open connections on one listener. Lowered if the process has fewer file descriptors. */
  readonly connections: number;
  /**
   * Maximum number of open connections from one address, or one /64 of IPv6. Not applied to loopback, where proxies
   * forward for many clients.
   */
  readonly connectionsPerSource: number;
  /** Maximum number of open HTTPS connections to the edges and endpoints of one account. */
  readonly connectionsPerAccount: number;
  /**
   * Maximum number of new connections per second from one address, with a burst of ten times as many. Not applied to
   * loopback.
   */
  readonly openingsPerSecond: number;
  /** Number of edges in this process, which share its file descriptors. */
  readonly edges: number;
  /** Maximum number of cached TLS contexts. Drops the least recently used. */
  readonly contexts: number;
  /** Maximum time from accept to a complete ClientHello (K3). */
  readonly helloTimeoutMs: number;
  /** Maximum time from the ClientHello to the end of the handshake. */
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
