/** Positions of the values, in the order of the texts: field names, or `field.inner`. New ones are added at the end. */
export interface PackedPaths {
  /** Strings that come first in `own`, including claimed names, referenced ids and the owner's id. */
  readonly keys: readonly string[];
  readonly own: readonly string[];
  readonly common: readonly string[];
}
