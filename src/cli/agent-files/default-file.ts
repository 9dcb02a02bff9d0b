/** Finds the agent file if none is named. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the path that the XDG Base Directory Specification defines. */
export function defaultAgentFile({ XDG_CONFIG_HOME: home }: Environment): string {
  // The specification requires programs to ignore a relative path.
  const directory = home?.startsWith("/") ? home : join(homedir(), ".config");
  return join(directory, "postern", "agent.yml");
}

/** Returns the named files, or the default one if it exists. */
export function agentFilesOf(paths: readonly string[] | undefined, env: Environment): readonly string[] {
  if (paths && paths.length > 0) return paths;
  const usual = defaultAgentFile(env);
  return existsSync(usual) ? [usual] : [];
}

/** Returns the file that a command changes: the last named one, or the default one, which may not exist. */
export function fileToChange(paths: readonly string[], env: Environment): string {
  return paths.at(-1) ?? defaultAgentFile(env);
}
