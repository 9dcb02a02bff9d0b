import { compilePolicy } from "../../policy/compile-policy.ts";
import type { PolicyCompilation } from "../../policy/compile-policy.ts";
import type { Layer } from "../../policy/language/action.ts";
import { maxPolicyBytes } from "../../policy/policy-document.ts";
import { toggle, flagOnly } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { defineCommand } from "../command/command.ts";
import { maxFiles, protocolSetting, readPolicyFile } from "../policy/read-policy.ts";
import { exitCodes } from "../process/exit.ts";
import { findingsAsJson, renderFindings } from "../terminal/policy-findings.ts";

/** Maximum size of a file, bytes. A larger file is not a hand-written policy. */
const maxReadBytes = 16 * 1024 * 1024;

type Checked = Pick<PolicyCompilation, "issues" | "warnings">;

/** Returns all findings, including an excessive size. */
function checkText(text: string, protocol: Layer): Checked {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxPolicyBytes) return compilePolicy(text, protocol);
  const message = `must be at most ${maxPolicyBytes} bytes, but has ${bytes}: split it, for example with internal endpoints`;
  return { issues: [{ path: "", message, reason: "policy_text_long" }], warnings: [] };
}

export const policyCheck = defineCommand({
  name: "policy check",
  doc: "Check traffic policies for errors and likely mistakes, without a server. Exits with code 0 if there are no errors, else with 7.",
  operands: "FILE…|-",
  least: 1,
  most: maxFiles,
  settings: {
    protocol: protocolSetting,
    strict: flagOnly(toggle("Exit with code 7 for likely mistakes too.")),
    json: settings.json,
  },
  notes: ["--json prints one line for each file."],
  examples: [
    "postern policy check policy.yaml",
    "postern policy check --strict policies/*.yaml",
    "postern policy check --protocol tcp --json -",
  ],
  run({ protocol, strict, json }, files) {
    let isFine = true;
    for (const file of files) {
      // A file that is too long is a finding, not a failure, so that the remaining files are still checked.
      const text = readPolicyFile(file, maxReadBytes);
      const found = checkText(text, protocol);
      // Text that was not read cannot be searched.
      const source = Buffer.byteLength(text) > maxPolicyBytes ? "" : text;
      if (found.issues.length > 0 || (strict && found.warnings.length > 0)) isFine = false;
      process.stdout.write(
        json
          ? `${JSON.stringify(findingsAsJson(file, source, found))}\n`
          : renderFindings(file, source, found, process.stdout),
      );
    }
    return Promise.resolve(isFine ? exitCodes.fine : exitCodes.refused);
  },
});
