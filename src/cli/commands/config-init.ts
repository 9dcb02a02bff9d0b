import { existsSync } from "node:fs";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { agentValues } from "../agent-files/agent-values.ts";
import { fileToChange } from "../agent-files/default-file.ts";
import { withKey, writeAgentFile } from "../agent-files/edit.ts";
import type { StoredKey } from "../agent-files/edit.ts";
import { exampleFile } from "../agent-files/example.ts";
import { agentConfig } from "../agent/agent-access.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes, Failure } from "../process/exit.ts";

export const configInit = defineCommand({
  name: "config init",
  doc: "Write an agent file with a commented example of each kind of tunnel. An existing file is replaced only with --force, which keeps its server, CA and token.",
  operands: "",
  least: 0,
  most: 0,
  settings: { files: agentConfig, force: flagOnly(toggle("Replace an existing file.")) },
  examples: ["postern config init", "postern config init --config agent.yml"],
  run({ files, force }) {
    const path = fileToChange(files, process.env);
    const isThere = existsSync(path);
    if (isThere && !force) {
      throw new Failure(
        "usage",
        `"${path}" exists: change it with \`postern config edit\`, or replace it with --force`,
      );
    }
    writeAgentFile(path, isThere ? withStored(exampleFile, path) : exampleFile);
    process.stdout.write(`wrote ${path}\nNext: set "addr" of the tunnel, then run \`postern start --all\`\n`);
    return Promise.resolve(exitCodes.fine);
  },
});

/** Adds the login from the file at `path`. */
function withStored(text: string, path: string): string {
  const values = agentValues([path], () => {});
  const stored = (["server", "ca", "authtoken"] as const satisfies readonly StoredKey[]).flatMap((key) => {
    const value = values.get(key)?.[0];
    return value === undefined ? [] : [[key, value] as const];
  });
  return stored.reduce((changed, [key, value]) => withKey(changed, "own", key, value), text);
}
