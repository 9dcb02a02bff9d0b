/** Where an edge's peers reach it. Another kind of line, such as TLS between machines, is another kind of address. */
import { connect } from "node:net";
import type { Socket } from "node:net";

export interface PeerAddress {
  readonly kind: "unix";
  readonly path: string;
}

/** As it is told to others. */
export function renderPeerAddress({ kind, path }: PeerAddress): string {
  return `${kind}:${path}`;
}

/** Connects to what another edge has told; undefined for a kind of address that is not known here. */
export function dialPeer(address: string): Socket | undefined {
  const path = /^unix:(.+)$/.exec(address)?.[1];
  return path === undefined ? undefined : connect({ path, allowHalfOpen: true });
}
