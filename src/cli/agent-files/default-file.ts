/** Where an agent's file is unless one is named. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** The XDG Base Directory Specification's place for it. */
export function defaultAgentFile({ XDG_CONFIG_HOME: home }: Environment): string {
  // A relative one is to be ignored.
  const directory = home?.startsWith("/") ? home : join(homedir(), ".config");
  return join(directory, "postern", "agent.yml");
}

/** The files that were named, or the usual one if it is there. */
export function agentFilesOf(given: readonly string[] | undefined, env: Environment): readonly string[] {
  if (given && given.length > 0) return given;
  const usual = defaultAgentFile(env);
  return existsSync(usual) ? [usual] : [];
}

/** The one file that a command changes: the last that was named, or the usual one, which need not be there. */
export function fileToChange(given: readonly string[], env: Environment): string {
  return given.at(-1) ?? defaultAgentFile(env);
}
