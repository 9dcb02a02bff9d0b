/** Why a list of captured traffic may lack some of it: plain data. Nothing is left out without a word. */

/**
 * `time`: the search took too long. `busy`: too many searches wait. `failed`: a node could not read what it has.
 * `silent`: an edge did not answer.
 */
export type MissingReason = "time" | "busy" | "failed" | "silent";

export interface Missing {
  readonly reason: MissingReason;
  /** For `time`: everything from this time on was searched, milliseconds since 1970. The next page continues there. */
  readonly searchedTo?: number | undefined;
}
