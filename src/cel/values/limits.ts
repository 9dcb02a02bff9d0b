/** What expressions may take: sizes when they are read, steps and sizes when they are evaluated. */
export interface Limits {
  /** UTF-16 code units of a source. */
  readonly sourceLength: number;
  /** Parts inside each other; brackets count. */
  readonly depth: number;
  readonly nodes: number;
  /** Steps of one evaluation: a call, an iteration, 64 units of text read or made by a function. */
  readonly steps: number;
  /** UTF-16 code units of a string, or bytes, that an expression makes. */
  readonly textLength: number;
  /** Items of a list, or entries of a map, that an expression makes. */
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
