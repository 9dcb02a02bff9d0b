/** One thing that is wrong with a source, and where. */
export interface Issue {
  readonly message: string;
  /** What to do instead, when that can be said. */
  readonly hint?: string;
  /** UTF-16 code units before it. */
  readonly offset: number;
  /** From 1. */
  readonly line: number;
  /** Code points, from 1. */
  readonly column: number;
}

export function issueAt(source: string, offset: number, message: string, hint?: string): Issue {
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  const column = Array.from(before.slice(lineStart)).length + 1;
  return { message, ...(hint !== undefined && { hint }), offset, line, column };
}

/** One line for a person, e.g. `line 1, column 12: …; did you mean …?`. */
export function issueText({ message, hint, line, column }: Issue): string {
  return `line ${line}, column ${column}: ${message}${hint === undefined ? "" : `; ${hint}`}`;
}
