/** Limits of expressions: sizes when parsed, steps and sizes when evaluated. */
export interface Limits {
  /** Maximum length of a source, UTF-16 code units. */
  readonly sourceLength: number;
  /** Maximum nesting of parts, including brackets. */
  readonly depth: number;
  readonly nodes: number;
  /** Maximum steps of one evaluation: a call, an iteration, 64 units of text that a function reads or creates. */
  readonly steps: number;
  /** Maximum length of a string or bytes value that an expression creates, UTF-16 code units or bytes. */
  readonly textLength: number;
  /** Maximum number of list items or map entries that an expression creates. */
  readonly items: number;
}

export const defaultLimits: Limits = {
  sourceLength: 4096,
  depth: 64,
  nodes: 2000,
  steps: 10_000,
  textLength: 65_536,
  items: 1000,
};
