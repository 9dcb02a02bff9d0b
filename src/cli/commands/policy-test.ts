import { toVisibleLines } from "../../lib/visible-text.ts";
import { styleFor as styled } from "../terminal/guarded-output.ts";
import type { JsonObject } from "../../lib/json.ts";
import { parseYaml } from "../../lib/yaml.ts";
import { CaseFault } from "../../policy/case-fields.ts";
import { runCases } from "../../policy/policy-cases.ts";
import type { CaseResult } from "../../policy/policy-cases.ts";
import { settings } from "../../settings/settings.ts";
import { defineCommand } from "../command/command.ts";
import { maxFiles, readPolicyFile } from "../policy/read-policy.ts";
import { Failure, exitCodes } from "../process/exit.ts";

/** Maximum size of a file with policies and cases, bytes. */
const maxFileBytes = 1024 * 1024;

export const policyTest = defineCommand({
  name: "policy test",
  doc: "Run the test cases in files against their policies, without a server or network. Exits with code 0 if all cases pass, else with 7.",
  operands: "FILE…|-",
  least: 1,
  most: maxFiles,
  settings: { json: settings.json },
  notes: ["--json prints one line for each file."],
  examples: ["postern policy test shop.policy-test.yaml", "postern policy test --json tests/*.yaml"],
  async run({ json }, files) {
    let passed = 0;
    let failed = 0;
    for (const file of files) {
      const results = await resultsOf(file);
      const wrong = results.filter((result) => result.wrong.length > 0);
      failed += wrong.length;
      passed += results.length - wrong.length;
      if (json) process.stdout.write(`${JSON.stringify({ file, passed: wrong.length === 0, cases: results })}\n`);
      else
        process.stdout.write(
          results.map((result) => renderResult(result, files.length > 1 ? `${file}: ` : "")).join(""),
        );
    }
    if (!json) process.stdout.write(`${passed} passed, ${failed} failed\n`);
    return failed === 0 ? exitCodes.fine : exitCodes.refused;
  },
});

/** Runs one test, `{ policy, cases }`, or a list of tests. */
async function resultsOf(file: string): Promise<readonly CaseResult[]> {
  const text = readPolicyFile(file, maxFileBytes);
  let given: unknown;
  try {
    given = parseYaml(text);
  } catch (error) {
    throw new Failure("usage", `${file}: it ${(error as Error).message}`, { cause: error });
  }
  const tests = (Array.isArray(given) ? given : [given]) as readonly unknown[];
  const results: CaseResult[] = [];
  for (const [index, test] of tests.entries()) {
    const id = idOf(test, index);
    try {
      if (typeof test !== "object" || test === null || Array.isArray(test)) throw new CaseFault("must be an object");
      const own = await runCases(test as JsonObject);
      results.push(
        ...own.map((result) => (Array.isArray(given) ? { ...result, name: `${id}: ${result.name}` } : result)),
      );
    } catch (error) {
      const where = Array.isArray(given) ? `${file}: ${id}` : file;
      throw new Failure("usage", `${where}: ${(error as Error).message}`, { cause: error });
    }
  }
  return results;
}

function idOf(test: unknown, index: number): string {
  const { id, name } = (test ?? {}) as { readonly id?: unknown; readonly name?: unknown };
  return [id, name].find((one): one is string => typeof one === "string") ?? `test ${index + 1}`;
}

function renderResult(result: CaseResult, prefix: string): string {
  const { name, wrong, trace } = toVisibleLines(result);
  const style = (format: "green" | "red" | "dim", text: string): string => styled(format, text, process.stdout);
  if (wrong.length === 0) return `${style("green", "ok")}    ${prefix}${name}\n`;
  const lines = [...wrong.map((one) => `      ${one}`), ...trace.map((one) => style("dim", `      | ${one}`))];
  return `${style("red", "FAIL")}  ${prefix}${name}\n${lines.join("\n")}\n`;
}
