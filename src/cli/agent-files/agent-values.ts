/** What agents' files say of the agent itself, for whoever reads settings. */
import { keyOf } from "../../settings/setting.ts";
import { Failure } from "../process/exit.ts";
import { agentFilesOf } from "./default-file.ts";
import { readAgentFiles, renderIssue } from "./read.ts";

/**
 * Texts by the key of their setting.
 *
 * @param given the files that were named; without any, the usual one is read if it is there
 * @throws Failure (usage) with everything that is wrong with them
 */
export function agentValues(
  given: readonly string[] | undefined,
  env: Readonly<Record<string, string | undefined>>,
): ReadonlyMap<string, readonly string[]> {
  const paths = agentFilesOf(given, env);
  if (paths.length === 0) return new Map();
  const { values, issues } = readAgentFiles(paths);
  if (issues.length > 0) throw new Failure("usage", issues.map(renderIssue).join("\n"));
  return new Map([...values].map(([name, { texts }]) => [keyOf(name), texts]));
}
