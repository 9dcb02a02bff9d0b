import type { Nuisance } from "../../http2/flood-guard.ts";
import type { Http2Stream } from "./http2-stream.ts";

/** Reports protocol errors of the client. */
export interface Faults {
  /** Whether the connection is over. Then nothing more is read or sent. */
  readonly isDone: boolean;
  /** Ends the connection. */
  broken(code: number, reason: string): void;
  /** Ends the stream. */
  streamError(stream: Http2Stream, code: number, reason: string): void;
  /** Counts a nuisance. Returns false if the maximum was exceeded and the connection is over. */
  count(nuisance: Nuisance): boolean;
}
