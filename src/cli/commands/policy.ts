import { readFileSync } from "node:fs";
import { parseYamlObject } from "../../lib/yaml.ts";
import { compilePolicy } from "../../policy/compile.ts";
import { maxPolicyBytes } from "../../policy/document.ts";
import { runCase } from "../../policy/policy-cases.ts";
import type { CaseResult } from "../../policy/policy-cases.ts";
import { errorCode } from "../../lib/errors.ts";
import { defineCommand } from "../command/command.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { oneOf } from "../../settings/kinds/text.ts";
import { flagOnly, one } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

/** Of a policy with its cases. */
const maxFileBytes = 1024 * 1024;

const protocol = flagOnly(one("What the policy stands on.", oneOf(["http", "tls", "tcp"]), { default: "http" }));

export const policyCheck = defineCommand({
  name: "policy check",
  doc: "Say everything that is wrong with a traffic policy, without a server. Exits with 0 when nothing is, else with 7.",
  operands: "FILE",
  least: 1,
  most: 1,
  settings: { protocol, json: settings.json },
  examples: ["postern policy check policy.yaml", "postern policy check --protocol tcp --json policy.yaml"],
  run({ protocol: layer, json }, [file = ""]) {
    const source = read(file, maxPolicyBytes);
    const { issues } = compilePolicy(source, layer);
    if (json) {
      const found = issues.map(({ path, message, reason }) => ({ path, message, error_code: errorCode(reason) }));
      process.stdout.write(`${JSON.stringify({ file, issues: found })}\n`);
    } else {
      for (const { path, message, reason } of issues) {
        process.stdout.write(`${file}: ${path === "" ? "" : `${path}: `}${message} (${errorCode(reason)})\n`);
      }
      if (issues.length === 0) process.stdout.write(`${file}: nothing is wrong\n`);
    }
    return Promise.resolve(issues.length === 0 ? exitCodes.fine : exitCodes.refused);
  },
});

export const policyTest = defineCommand({
  name: "policy test",
  doc: "Run the cases of a file against the HTTP policy in it, without a server. Exits with 0 when all are as expected, else with 7.",
  operands: "FILE",
  least: 1,
  most: 1,
  settings: { json: settings.json },
  examples: ["postern policy test shop.policy-test.yaml", "postern policy test --json shop.policy-test.yaml"],
  async run({ json }, [file = ""]) {
    const results = await casesOf(file);
    const failed = results.filter(({ wrong }) => wrong.length > 0);
    if (json) process.stdout.write(`${JSON.stringify({ file, passed: failed.length === 0, cases: results })}\n`);
    else process.stdout.write(results.map(rendered).join(""));
    return failed.length === 0 ? exitCodes.fine : exitCodes.refused;
  },
});

async function casesOf(file: string): Promise<readonly CaseResult[]> {
  const { policy: given, cases } = document(file);
  const policyText = typeof given === "string" ? given : JSON.stringify(given ?? {});
  const { policy, issues } = compilePolicy(policyText, "http");
  const [first] = issues;
  if (first) throw new Failure("usage", `${file}: policy: ${first.path} ${first.message}`);
  if (!Array.isArray(cases) || cases.length === 0) throw new Failure("usage", `${file}: there are no cases in it`);
  const results: CaseResult[] = [];
  for (const [index, one] of (cases as readonly unknown[]).entries()) {
    if (typeof one !== "object" || one === null) throw new Failure("usage", `${file}: case ${index + 1} is no object`);
    results.push(await runCase(policy, one as Readonly<Record<string, unknown>>, index));
  }
  return results;
}

function rendered({ name, wrong, trace }: CaseResult): string {
  if (wrong.length === 0) return `ok    ${name}\n`;
  const lines = [...wrong.map((one) => `      ${one}`), ...trace.map((one) => `      | ${one}`)];
  return `FAIL  ${name}\n${lines.join("\n")}\n`;
}

function document(file: string): Readonly<Record<string, unknown>> {
  const source = read(file, maxFileBytes);
  try {
    return parseYamlObject(source);
  } catch (error) {
    throw new Failure("usage", `${file}: it ${(error as Error).message}`, { cause: error });
  }
}

function read(file: string, maxBytes: number): string {
  try {
    const bytes = readFileSync(file === "-" ? 0 : file);
    if (bytes.length > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    return bytes.toString("utf8");
  } catch (error) {
    throw new Failure("usage", `cannot read "${file}": ${(error as Error).message}`, { cause: error });
  }
}
