/** An error in a source, with its position. */
export interface Issue {
  readonly message: string;
  /** Suggestion, if there is one. */
  readonly hint?: string;
  /** Offset in UTF-16 code units. */
  readonly offset: number;
  /** Starts at 1. */
  readonly line: number;
  /** In code points, starts at 1. */
  readonly column: number;
}

export function issueAt(source: string, offset: number, message: string, hint?: string): Issue {
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  const column = Array.from(before.slice(lineStart)).length + 1;
  return { message, ...(hint !== undefined && { hint }), offset, line, column };
}

/** One line for a reader: `line 1, column 12: …; did you mean …?`. */
export function issueText({ message, hint, line, column }: Issue): string {
  return `line ${line}, column ${column}: ${message}${hint === undefined ? "" : `; ${hint}`}`;
}
