import type { Settings, ValuesOf } from "../../settings/setting.ts";

/** One command: its help, settings and action. */
export interface Command<S extends Settings = Settings> {
  /** As typed after `postern`. */
  readonly name: string;
  /** One sentence. */
  readonly doc: string;
  /** Positional arguments in the usage line, e.g. `[PORT]`. */
  readonly operands: string;
  readonly least: number;
  readonly most: number;
  readonly settings: S;
  readonly examples?: readonly string[];
  /** Additional lines of the help. */
  readonly notes?: readonly string[];
  /** Number of arguments after the command's first word that are part of its name. */
  readonly taken?: number;
  /** Resolves with the exit code. Throws `Failure` for errors that the user can fix. */
  run(values: ValuesOf<S>, operands: readonly string[]): Promise<number>;
}

/** A command whose module is loaded on first use. */
export interface CommandEntry {
  readonly doc: string;
  /** @param args arguments after the name */
  load(args: readonly string[]): Promise<Command>;
}

export function defineCommand<const S extends Settings>(command: Command<S>): Command<S> {
  return command;
}
