/** Reads the agent's own settings from agent files. */
import { keyOf } from "../../settings/setting.ts";
import { Failure } from "../process/exit.ts";
import { readAgentFiles, renderIssue } from "./read-agent-files.ts";

/**
 * Returns texts by the key of their setting. `warn` receives ignored keys. Throws a `Failure` (usage) with all errors
 * in the files.
 */
export function agentValues(
  paths: readonly string[],
  warn: (warning: string) => void,
): ReadonlyMap<string, readonly string[]> {
  const { values, issues, warnings } = readAgentFiles(paths);
  for (const warning of warnings) warn(renderIssue(warning));
  if (issues.length > 0) throw new Failure("usage", issues.map(renderIssue).join("\n"));
  return new Map([...values].map(([name, { texts }]) => [keyOf(name), texts]));
}
