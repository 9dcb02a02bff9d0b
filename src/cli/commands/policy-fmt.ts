import { writeDocument } from "../terminal/guarded-output.ts";
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { maxPolicyBytes } from "../../policy/policy-document.ts";
import { formatPolicy } from "../../policy/format-policy.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { defineCommand } from "../command/command.ts";
import { maxFiles, protocolSetting, readPolicyFile } from "../policy/read-policy.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { renderFindings } from "../terminal/policy-findings.ts";

export const policyFmt = defineCommand({
  name: "policy fmt",
  doc: "Format traffic policies: phases and keys in standard order, current names instead of older ones, two spaces of indentation. Comments stay, and JSON stays JSON. Prints the names of changed files. Standard input is written to standard output.",
  operands: "FILE…|-",
  least: 1,
  most: maxFiles,
  settings: {
    protocol: protocolSetting,
    check: flagOnly(toggle("Write nothing, print files that need formatting, and exit with code 7 if there are any.")),
  },
  notes: ["A policy with errors stays unchanged, and the exit code is 7."],
  examples: ["postern policy fmt policy.yaml", "postern policy fmt --check policies/*.yaml"],
  run({ protocol, check }, files) {
    let isFine = true;
    for (const file of files) {
      const text = readPolicyFile(file, maxPolicyBytes);
      const formatted = formatPolicy(text, protocol);
      if (typeof formatted !== "string") {
        isFine = false;
        process.stderr.write(renderFindings(file, text, { issues: formatted, warnings: [] }, process.stderr));
      } else if (check) {
        if (formatted === text) continue;
        isFine = false;
        process.stdout.write(`${file}\n`);
      } else if (file === "-") writeDocument(process.stdout, formatted);
      else if (formatted !== text) {
        replaceFile(file, text, formatted);
        process.stdout.write(`${file}\n`);
      }
    }
    return Promise.resolve(isFine ? exitCodes.fine : exitCodes.refused);
  },
});

/** Replaces the file atomically, unless it has changed since it was read. */
function replaceFile(file: string, before: string, text: string): void {
  const beside = `${file}.postern-fmt`;
  try {
    if (readFileSync(file, "utf8") !== before) throw new Error("the file changed in the meantime");
    writeFileSync(beside, text, { mode: statSync(file).mode, flag: "wx" });
    renameSync(beside, file);
  } catch (error) {
    throw new Failure("usage", `cannot write "${file}": ${(error as Error).message}`, { cause: error });
  }
}
