export interface CatalogueEntry {
  /** The public code is `ERR_POSTERN_<number>`. */
  readonly number: number;
  /** HTTP status when the refusal is answered over HTTP. */
  readonly status: number;
  /** What is wrong, one sentence. */
  readonly what: string;
  /** What to do about it, one sentence. */
  readonly fix: string;
}

export function entry(number: number, status: number, what: string, fix: string): CatalogueEntry {
  return { number, status, what, fix };
}
