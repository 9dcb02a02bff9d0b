import type { Settings, ValuesOf } from "../../settings/setting.ts";

/** One command: what its help says, what it takes, and what it does. */
export interface Command<S extends Settings = Settings> {
  /** As typed after `postern`. */
  readonly name: string;
  /** One sentence. */
  readonly doc: string;
  /** Positional arguments as the usage line shows them, e.g. `[PORT]`. */
  readonly operands: string;
  readonly least: number;
  readonly most: number;
  readonly settings: S;
  readonly examples?: readonly string[];
  /** Further lines of the help. */
  readonly notes?: readonly string[];
  /** Arguments after the command's first word or words that belong to its name as well. */
  readonly taken?: number;
  /** Resolves with the exit code. Throws `Failure` for what the user can mend. */
  run(values: ValuesOf<S>, operands: readonly string[]): Promise<number>;
}

/** A command that is loaded when it is needed. */
export interface CommandEntry {
  readonly doc: string;
  /** `args` are those after the name. */
  load(args: readonly string[]): Promise<Command>;
}

export function defineCommand<const S extends Settings>(command: Command<S>): Command<S> {
  return command;
}
