/** How edges reach one another: connections of which each end knows that the other one belongs to it. */
import type { Socket } from "node:net";

/** Another edge, as it is told of. */
export interface PeerPlace {
  readonly edgeId: string;
  /** A kind of transport, `:`, and where. */
  readonly address: string;
}

/** Calls with a connection whose other end is proven, or with why there is none. */
export type Dialled = (socket: Socket | undefined, error?: Error) => void;

export interface PeerTransport {
  /** What its addresses begin with. */
  readonly kind: string;
  /**
   * Lets others connect: `arrived` is called with each connection whose other end is proven. Resolves with what comes
   * after the kind in the address; rejects when it cannot be had.
   */
  listen(arrived: (socket: Socket) => void): Promise<string>;
  /** Connects to `at`, the address without its kind. Calls `done` once, and within a bound. */
  dial(at: string, edgeId: string, done: Dialled): void;
  /** Accepts nothing any more. Connections that were passed on are their owners'. */
  close(): void;
}

/** How long both ends have to prove themselves, milliseconds. */
export const handshakeMs = 5_000;
