import type { Nuisance } from "../../http2/flood-guard.ts";
import type { Http2Stream } from "./stream.ts";

/** Where the parts of a connection say what its client does wrong. */
export interface Faults {
  /** The connection is over: nothing more is read or said. */
  readonly isDone: boolean;
  /** Ends the connection. */
  broken(code: number, reason: string): void;
  /** Ends the stream. */
  streamError(stream: Http2Stream, code: number, reason: string): void;
  /** Counts a nuisance; false when it was one too many, and the connection is over. */
  count(nuisance: Nuisance): boolean;
}
