/** Generates the SDK's groups of methods as interfaces, and the table from which they are created at run time. */
import { toCamelCase } from "./operations.ts";
import type { SdkOperation } from "./operations.ts";
import type { ApiDescription } from "../../src/api/description/description.ts";
import { renderComment, typeOf } from "./types.ts";

/** Types and options that the text references. */
interface Used {
  readonly types: Set<string>;
  /** Query parameters as the fields of an interface → its name. */
  readonly options: Map<string, string>;
}

interface Group {
  readonly operations: SdkOperation[];
  readonly groups: Map<string, Group>;
}

/** `sdk/src/generated/resources.ts`. */
export function renderResources(operations: readonly SdkOperation[]): string {
  const root: Group = { operations: [], groups: new Map() };
  for (const operation of operations) {
    let group = root;
    for (const word of operation.group) {
      let inner = group.groups.get(word);
      if (!inner) group.groups.set(word, (inner = { operations: [], groups: new Map() }));
      group = inner;
    }
    group.operations.push(operation);
  }
  const used: Used = { types: new Set(), options: new Map() };
  const body = renderGroup("Resources", "Everything that the API offers, by the words of its paths.", root, used);
  const types = [...used.types].sort().map((name) => `  ${name},\n`);
  const options = [...used.options].map(([text, name]) => `export interface ${name} ${text}\n\n`);
  return [
    "/** The methods of the SDK. */\n",
    'import type { CallOptions, ReadOptions } from "../call-options.ts";\n',
    'import type { Listing } from "../listing.ts";\n',
    `import type {\n${types.join("")}} from "./types.ts";\n\n`,
    ...options,
    body,
  ].join("");
}

function renderGroup(name: string, doc: string, group: Group, used: Used): string {
  const inner = [...group.groups].map(([word, one]) => {
    const type = `${name === "Resources" ? "" : name}${toPascalCase(word)}`;
    return { word, type, one };
  });
  const methods = group.operations.map((operation) => renderMethod(operation, used));
  const members = inner.map(({ word, type }) => `  readonly ${toCamelCase(word)}: ${type};\n`);
  const text = `${renderComment(doc, "")}export interface ${name} {\n${members.join("")}${methods.join("")}}\n`;
  const rest = inner.map(({ word, type, one }) => renderGroup(type, pathDoc(one, word), one, used));
  return [text, ...rest].join("\n");
}

function pathDoc(group: Group, word: string): string {
  const path = group.operations[0]?.path.replace(/\/\{id\}$/, "");
  return path === undefined ? `Below \`/${word}\`.` : `\`${path}\``;
}

function renderMethod(operation: SdkOperation, used: Used): string {
  const { parameters, body, answers } = operation;
  const args = parameters.map((name) => `${toCamelCase(name)}: string`);
  if (body) args.push(`body${operation.bodyOptional ? "?" : ""}: ${nameType(typeOf(body, "    "), used)}`);
  args.push(`options?: ${optionsType(operation, used)}`);
  const doc = renderComment(`${operation.summary} \`${operation.method} ${operation.path}\``, "  ");
  const name = toCamelCase(operation.verb);
  const one = `  ${name}(${args.join(", ")}): ${result(operation, used)};\n`;
  if (one.length <= 121 && !one.slice(0, -1).includes("\n")) return doc + one;
  return `${doc}  ${name}(\n${args.map((arg) => `    ${arg},\n`).join("")}  ): ${result(operation, used)};\n`;

  function result(operation: SdkOperation, used: Used): string {
    if (answers === "nothing") return "Promise<void>";
    if (answers === "text") return "Promise<string>";
    const type = nameType(typeOf(operation.answer ?? {}), used);
    return answers === "list" ? `Listing<${type}>` : `Promise<${type}>`;
  }
}

function optionsType(operation: SdkOperation, used: Used): string {
  const fields = operation.query.map(
    ({ name, description, schema }) =>
      `${renderComment(description ?? "", "  ")}  readonly ${name}?: ${typeOf(schema)} | undefined;\n`,
  );
  if (fields.length === 0) return operation.method === "GET" ? "ReadOptions" : "CallOptions";
  const base = operation.method === "GET" ? "ReadOptions" : "CallOptions";
  const text = `extends ${base} {\n${fields.join("")}}`;
  const found = used.options.get(text);
  if (found !== undefined) return found;
  const short = `${toPascalCase(operation.verb)}Options`;
  const isTaken = [...used.options.values()].includes(short);
  const name = isTaken ? `${operation.group.map(toPascalCase).join("")}${short}` : short;
  used.options.set(text, name);
  return name;
}

/** Records the name for the import. */
function nameType(type: string, used: Used): string {
  if (/^[A-Z]\w+$/.test(type)) used.types.add(type);
  return type;
}

/** `sdk/src/generated/operations.ts`. */
export function renderOperations(operations: readonly SdkOperation[]): string {
  const lines = operations.map((operation) => {
    const { id, group, verb, method, path, body, query, answers, listKey } = operation;
    const row = {
      id,
      group,
      verb,
      method,
      path,
      ...(body && { takesBody: true }),
      ...(query.length > 0 && { query: query.map(({ name }) => name) }),
      answers,
      ...(listKey !== undefined && { listKey }),
    };
    return renderLiteral(row);
  });
  return [
    "/** Every operation of the API: where it is found in the SDK, and how it is called. */\n",
    'import type { Operation } from "../operation.ts";\n\n',
    `export const operations: readonly Operation[] = [\n${lines.join("")}];\n`,
  ].join("");
}

/** An object literal, on one line where it fits. */
function renderLiteral(row: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(row).map(
    ([name, value]) => `${name}: ${JSON.stringify(value).replaceAll('","', '", "')}`,
  );
  const one = `  { ${fields.join(", ")} },\n`;
  return one.length <= 121 ? one : `  {\n${fields.map((field) => `    ${field},\n`).join("")}  },\n`;
}

/** `sdk/src/generated/error-codes.ts`. */
export function renderErrorCodes(api: ApiDescription): string {
  const codes = new Map<string, string>();
  for (const response of Object.values(api.components.responses)) {
    for (const [name, { value }] of Object.entries(response.content?.["application/json"]?.examples ?? {})) {
      codes.set(name, value.error_code);
    }
  }
  const lines = [...codes].map(([name, code]) => `  ${name}: "${code}",\n`);
  return `/** The codes of refusals, by name. */\nexport const errorCodes = {\n${lines.join("")}} as const;\n`;
}

function toPascalCase(word: string): string {
  const name = toCamelCase(word);
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}
