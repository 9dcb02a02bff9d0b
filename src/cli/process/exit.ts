/** What a command's exit code says; scripts rely on it. */
export const exitCodes = {
  fine: 0,
  unexpected: 1,
  /** Usage or configuration. */
  usage: 2,
  /** Credentials refused. */
  credentials: 3,
  /** Server unreachable. */
  unreachable: 4,
  /** Name not available. */
  nameTaken: 5,
  /** Upstream unreachable, where it is required (`--require-upstream`). */
  upstream: 6,
  /** Refused by policy or limit. */
  refused: 7,
  planHasChanges: 8,
  interrupted: 130,
} as const;

export type ExitName = keyof typeof exitCodes;

/** Ends a command with one sentence on stderr and the exit code of `reason`; no stack is shown. */
export class Failure extends Error {
  readonly reason: ExitName;

  constructor(reason: ExitName, sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.reason = reason;
  }

  get exitCode(): number {
    return exitCodes[this.reason];
  }
}

/** What `parse` gives; the `Error` with which it says what a value must be becomes the `Failure` (usage) that names it. */
export function readingOf<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Failure("usage", `${what} ${(error as Error).message}`, { cause: error });
  }
}
