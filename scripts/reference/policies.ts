/** The reference of traffic policies: actions, variables and functions. */
import { typeText } from "../../src/cel/checking/cel-types.ts";
import { actions, unsupportedActions } from "../../src/policy/actions/index.ts";
import type { ActionDeclaration } from "../../src/policy/language/action.ts";
import type { Phase } from "../../src/policy/language/phase.ts";
import { phases } from "../../src/policy/language/phase.ts";
import { environmentOf, policyFunctions } from "../../src/policy/policy-environment.ts";
import { fieldsTable } from "./fields.ts";
import { toCode, renderPage, renderTable } from "./markdown.ts";

export function policiesPage(): string {
  const introduction =
    "Actions and variables for the rules of a [traffic policy](../guides/policies.md). Expressions use [CEL](expressions.md).";
  const unsupported = Object.entries(unsupportedActions).map(([type, why]) => [toCode(type), why]);
  return renderPage("Traffic policies", introduction, [
    "## Actions\n\n",
    ...actions.map(actionSection),
    "Rejected by name:\n\n",
    renderTable(["Action", "Why"], unsupported),
    "## Variables\n\n",
    'A variable is read when an expression uses it. A missing variable has the zero value of its type: `""`, `0`, `false` or an empty list. `vars.NAME` is the value that `set-vars` has set in this phase, of any type. Capitalised names from older policies, such as `conn.ClientIP` and `req.Method`, mean the current names.\n\n',
    variablesTable(),
    "## Functions\n\n",
    "In addition to those of [expressions](expressions.md). `split` keeps at most the given number of parts and drops the rest; without arguments it splits a text at white space.\n\n",
    functionsTable(),
  ]);
}

function actionSection({ type, alias, doc, phases: own, config, results }: ActionDeclaration): string {
  const left = results
    ? `Leaves ${Object.entries(results.fields)
        .map(([name, of]) => toCode(`actions.ngrok.${results.name}.${name}`) + ` (${typeText(of)})`)
        .join(", ")}.\n\n`
    : "";
  const older = alias === undefined ? "" : ` Also called ${toCode(alias)}.`;
  return `### ${type}\n\n${doc}${older} In ${own.map(toCode).join(", ")}.\n\n${fieldsTable(config)}${left}`;
}

function variablesTable(): string {
  const found = new Map<string, { type: string; phases: Phase[] }>();
  for (const phase of phases.slice(0, 3)) {
    const { variables } = environmentOf(phase, phase === "on_tcp_connect" ? "tls" : "http", actions);
    for (const { name, type, read } of variables.values()) {
      if (!read || name.startsWith("actions.")) continue;
      const one = found.get(name);
      if (one) one.phases.push(phase);
      else found.set(name, { type: typeText(type), phases: [phase] });
    }
  }
  const rows = Array.from(found, ([name, one]) => [toCode(name), one.type, one.phases.map(toCode).join(", ")]);
  return renderTable(["Name", "Type", "Phases"], rows);
}

function functionsTable(): string {
  const rows = policyFunctions.flatMap(({ name, overloads }) =>
    overloads.map(({ isMember, parameters, result }) => {
      const given = parameters.map(typeText);
      const [target = "", ...rest] = given;
      const called = isMember ? `${target}.${name}(${rest.join(", ")})` : `${name}(${given.join(", ")})`;
      return [toCode(called), typeText(result)];
    }),
  );
  return renderTable(["Form", "Gives"], rows);
}
