import { errorCode } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";

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
  /** An import left out a setting that protects something. */
  importLeftGuards: 8,
  /** Something may need attention soon (`postern status`). */
  warning: 9,
  interrupted: 130,
} as const;

export type ExitName = keyof typeof exitCodes;

/** What a failure is called where nobody gave it a code. */
const codes: Readonly<Partial<Record<ExitName, RefusalName>>> = {
  usage: "command_usage",
  credentials: "command_credentials",
  unreachable: "command_unreachable",
  nameTaken: "command_name_taken",
  upstream: "command_upstream",
  refused: "command_refused",
};

/** Ends a command with one sentence on stderr and the exit code of `reason`; no stack is shown. */
export class Failure extends Error {
  readonly reason: ExitName;
  /** Of the catalogue: that of whoever refused, where it gave one. */
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

/** What `parse` gives; the `Error` with which it says what a value must be becomes the `Failure` (usage) that names it. */
export function readingOf<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Failure("usage", `${what} ${(error as Error).message}`, { cause: error });
  }
}
