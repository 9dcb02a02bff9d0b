import { errorCode } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";

/** Meaning of a command's exit code. Scripts rely on it. */
export const exitCodes = {
  fine: 0,
  unexpected: 1,
  /** Usage or configuration. */
  usage: 2,
  /** Credentials rejected. */
  credentials: 3,
  /** Server unreachable. */
  unreachable: 4,
  /** Name not available. */
  nameTaken: 5,
  /** Upstream unreachable although it is required (`--require-upstream`). */
  upstream: 6,
  /** Rejected by a policy or limit. */
  refused: 7,
  planHasChanges: 8,
  /** A backtest found requests that would be newly denied or newly allowed. */
  accessChanges: 8,
  /** An import omitted a setting that protects something. */
  importLeftGuards: 8,
  /** Something may need attention soon (`postern status`). */
  warning: 9,
  interrupted: 130,
} as const;

export type ExitName = keyof typeof exitCodes;

/** Default error codes of failures. */
const codes: Readonly<Partial<Record<ExitName, RefusalName>>> = {
  usage: "command_usage",
  credentials: "command_credentials",
  unreachable: "command_unreachable",
  nameTaken: "command_name_taken",
  upstream: "command_upstream",
  refused: "command_refused",
};

/** Ends a command with one sentence on stderr and the exit code of `reason`, without a stack. */
export class Failure extends Error {
  readonly reason: ExitName;
  /** Error code of the catalogue; the server's own code if it sent one. */
  readonly code: string;

  constructor(reason: ExitName, sentence: string, options: ErrorOptions & { readonly code?: string | undefined } = {}) {
    super(sentence, options);
    this.reason = reason;
    this.code = options.code ?? errorCode(codes[reason] ?? "command_unexpected");
  }

  get exitCode(): number {
    return exitCodes[this.reason];
  }
}

/** Returns the result of `parse`. Turns an `Error` about the value into a `Failure` (usage) that names the value. */
export function failOnError<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Failure("usage", `${what} ${(error as Error).message}`, { cause: error });
  }
}
