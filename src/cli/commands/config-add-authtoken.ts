import { fileToChange } from "../agent-files/default-file.ts";
import { readAgentText, withKey, writeAgentFile } from "../agent-files/edit.ts";
import { readAgentFiles } from "../agent-files/read-agent-files.ts";
import { agentConfig } from "../agent/agent-access.ts";
import { defineCommand } from "../command/command.ts";
import { readSecret } from "../terminal/read-secret.ts";
import { exitCodes, Failure, failOnError } from "../process/exit.ts";

export const configAddAuthtoken = defineCommand({
  name: "config add-authtoken",
  doc: "Store an agent token in the agent file, and make the file readable only by its owner. Other keys in the file stay unchanged. Without a token, or with -, the command asks for it, or reads stdin if stdin is not a terminal. Other users of the machine cannot see such a token.",
  operands: "[TOKEN|-]",
  least: 0,
  most: 1,
  settings: { files: agentConfig },
  examples: ["postern config add-authtoken < token", "postern config add-authtoken postern_at_…"],
  async run({ files: given }, [operand = "-"]) {
    const token = operand === "-" ? await readSecret("Token (not shown): ") : operand;
    if (!/^[\x21-\x7e]+$/.test(token)) throw new Failure("usage", "the token must be visible ASCII without spaces");
    const path = fileToChange(given, process.env);
    const before = readAgentText(path);
    const format = before === "" ? "own" : (readAgentFiles([path]).formats[0]?.[1] ?? "own");
    writeAgentFile(
      path,
      failOnError(`"${path}"`, () => withKey(before, format, "authtoken", token)),
    );
    process.stdout.write(`stored the token in ${path}\n`);
    return exitCodes.fine;
  },
});
