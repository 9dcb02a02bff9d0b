export interface CatalogueEntry {
  /** The public code is `ERR_POSTERN_<number>`. */
  readonly number: number;
  /** HTTP status of the refusal over HTTP. */
  readonly status: number;
  /** The problem, one sentence. */
  readonly what: string;
  /** The fix, one sentence. */
  readonly fix: string;
}

export function defineError(number: number, status: number, what: string, fix: string): CatalogueEntry {
  return { number, status, what, fix };
}
