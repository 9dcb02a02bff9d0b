/** Connections between edges, on which each end knows that the other one belongs to the same server or cluster. */
import type { Socket } from "node:net";

/** Another edge and its address. */
export interface PeerPlace {
  readonly edgeId: string;
  /** Kind of transport, `:`, and the address for it. */
  readonly address: string;
}

/** Called with a connection whose other end is proven, or with an error. */
export type Dialled = (socket: Socket | undefined, error?: Error) => void;

export interface PeerTransport {
  /** Prefix of its addresses. */
  readonly kind: string;
  /**
   * Accepts connections and calls `arrived` with each whose other end is proven. Resolves with the address without its
   * kind. Rejects if the address is not available.
   */
  listen(arrived: (socket: Socket) => void): Promise<string>;
  /** Connects to `at`, the address without its kind. Calls `done` once, within a time limit. */
  dial(at: string, edgeId: string, done: Dialled): void;
  /** Stops accepting. Connections that were passed on belong to their owners. */
  close(): void;
}

/** Maximum time to connect and for both ends to prove themselves, milliseconds. */
export const handshakeMs = 2_500;
