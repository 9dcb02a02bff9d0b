/** `docs/reference`: generates pages from the declarations. */
import { modulesOf, resources } from "../../src/api/operation/resource-declarations.ts";
import type { Operation } from "../../src/api/operation/call.ts";
import { modules } from "../../src/modules/index.ts";
import type { Fields } from "../../src/schema/fields.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import { errorsPage } from "./errors.ts";
import { expressionsPage } from "./expressions.ts";
import { fieldsTable } from "./fields.ts";
import { importPage } from "./import.ts";
import { toCode, renderPage, renderTable } from "./markdown.ts";
import { moduleOrder, placesText } from "./module-order.ts";
import { metricsPage } from "./metrics.ts";
import { policiesPage } from "./policies.ts";
import { commandsPage, settingsPage } from "./settings.ts";
import { variablesPage } from "./variables.ts";

export async function referenceFiles(operations: readonly Operation[]): Promise<[path: string, content: string][]> {
  const folder = "docs/reference";
  return [
    [`${folder}/resources.md`, resourcesPage(operations)],
    [`${folder}/modules.md`, modulesPage()],
    [`${folder}/variables.md`, variablesPage()],
    [`${folder}/expressions.md`, expressionsPage()],
    [`${folder}/policies.md`, policiesPage()],
    [`${folder}/errors.md`, errorsPage()],
    [`${folder}/settings.md`, settingsPage()],
    [`${folder}/commands.md`, await commandsPage()],
    [`${folder}/metrics.md`, metricsPage()],
    [`${folder}/import.md`, importPage()],
  ];
}

function resourcesPage(operations: readonly Operation[]): string {
  const shown = resources.filter((resource) => !resource.internal);
  const parts = shown.map((resource) => resourceSection(resource, operations));
  const others = operations.filter(({ resource }) => !resource);
  parts.push(`## Everything else\n\n${operationsTable(others)}`);
  const introduction =
    "Objects of the management API. `/docs` of a running server has the same reference with examples, and `openapi.json` is the machine-readable version. Every object also has `id` and `uri`, and all stored objects have `created_at`.";
  return renderPage("Resources", introduction, parts);
}

function resourceSection(resource: ResourceDeclaration, operations: readonly Operation[]): string {
  const own = operations.filter((one) => one.resource === resource && one.block === undefined);
  const attached = modulesOf(resource).map(([{ name }]) => name);
  const bare: Fields = Object.fromEntries(Object.entries(resource.fields).filter(([name]) => !attached.includes(name)));
  const links = attached.map((name) => `[${toCode(name)}](modules.md#${name})`).join(", ");
  return [
    `## ${resource.name.replaceAll("_", " ")}\n\n${resource.doc} Ids begin with ${toCode(`${resource.idPrefix}_`)}.\n\n`,
    operationsTable(own),
    fieldsTable(bare),
    links === "" ? "" : `Modules, each with a separate path below \`${resource.path}/{id}/\`: ${links}.\n\n`,
  ].join("");
}

function operationsTable(operations: readonly Operation[]): string {
  const rows = operations.map(({ id, method, path, summary }) => [toCode(`${method} ${path}`), summary, toCode(id)]);
  return renderTable(["Request", "What it does", "Operation"], rows);
}

function modulesPage(): string {
  const parts = modules.map(({ name, doc, on, fields }) => {
    return `## ${name}\n\n${doc}\n\nOn: ${placesText(on)}.\n\n${fieldsTable(fields)}`;
  });
  const introduction =
    "Modules that act on traffic, in order of execution. Every module also has `enabled`, true by default.";
  return renderPage("Modules", introduction, [moduleOrder(), ...parts]);
}
