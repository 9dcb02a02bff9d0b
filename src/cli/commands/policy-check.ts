import { compilePolicy } from "../../policy/compile.ts";
import { maxPolicyBytes } from "../../policy/document.ts";
import { toggle, flagOnly } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { defineCommand } from "../command/command.ts";
import { maxFiles, protocolSetting, readPolicyFile } from "../policy/read-policy.ts";
import { exitCodes } from "../process/exit.ts";
import { findingsAsJson, renderFindings } from "../terminal/policy-findings.ts";

export const policyCheck = defineCommand({
  name: "policy check",
  doc: "Say everything that is wrong with traffic policies, and what was probably not meant, without a server. Exits with 0 when nothing is wrong, else with 7.",
  operands: "FILE…|-",
  least: 1,
  most: maxFiles,
  settings: {
    protocol: protocolSetting,
    strict: flagOnly(toggle("Exit with 7 for what was probably not meant, too.")),
    json: settings.json,
  },
  notes: ["With --json there is one line for each file."],
  examples: [
    "postern policy check policy.yaml",
    "postern policy check --strict policies/*.yaml",
    "postern policy check --protocol tcp --json -",
  ],
  run({ protocol, strict, json }, files) {
    let isFine = true;
    for (const file of files) {
      const text = readPolicyFile(file, maxPolicyBytes);
      const found = compilePolicy(text, protocol);
      if (found.issues.length > 0 || (strict && found.warnings.length > 0)) isFine = false;
      process.stdout.write(
        json
          ? `${JSON.stringify(findingsAsJson(file, text, found))}\n`
          : renderFindings(file, text, found, process.stdout),
      );
    }
    return Promise.resolve(isFine ? exitCodes.fine : exitCodes.refused);
  },
});
