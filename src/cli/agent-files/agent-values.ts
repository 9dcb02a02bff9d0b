/** What agents' files say of the agent itself, for whoever reads settings. */
import { keyOf } from "../../settings/setting.ts";
import { Failure } from "../process/exit.ts";
import { readAgentFiles, renderIssue } from "./read.ts";

/** Texts by the key of their setting; `warn` is given what is left out. Throws `Failure` (usage) with everything that is wrong with the files. */
export function agentValues(
  paths: readonly string[],
  warn: (warning: string) => void,
): ReadonlyMap<string, readonly string[]> {
  const { values, issues, warnings } = readAgentFiles(paths);
  for (const warning of warnings) warn(renderIssue(warning));
  if (issues.length > 0) throw new Failure("usage", issues.map(renderIssue).join("\n"));
  return new Map([...values].map(([name, { texts }]) => [keyOf(name), texts]));
}
