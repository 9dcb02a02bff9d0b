/** Reads the parts of an operation in `openapi.json` that the command line needs. */
import { brotliDecompressSync } from "node:zlib";
import { listOwnFiles, readOwnFile } from "../../lib/io/own-file.ts";
import { operations } from "../../../sdk/src/index.ts";
import type { Operation } from "../../../sdk/src/index.ts";
import type { ApiDescription, Schema } from "../../api/description/description.ts";

export interface DescribedOperation extends Operation {
  readonly summary: string;
  /** Description of the resource. */
  readonly doc: string;
  /** Names of the ids in the path. */
  readonly ids: readonly string[];
  /** Fields of the body, with references resolved. */
  readonly fields: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  /** Query parameters: name → description. */
  readonly queryDocs: Readonly<Record<string, string>>;
  /** Boolean query parameters. */
  readonly switches: ReadonlySet<string>;
}

let loaded: ApiDescription | undefined;

/** In artifacts, the description is compressed. */
export const packedDescription = "docs/openapi.json.br";

function loadDescription(): ApiDescription {
  return (loaded ??= JSON.parse(readDescription().toString()) as ApiDescription);
}

function readDescription(): Buffer {
  const isPacked = listOwnFiles("docs/").includes("openapi.json.br");
  return isPacked ? brotliDecompressSync(readOwnFile(packedDescription)) : readOwnFile("openapi.json");
}

/**
 * The resources in their command-line form, e.g. `edges/https/routes`, each with its verbs; "" for operations without a
 * resource.
 */
export function resourceVerbs(): ReadonlyMap<string, readonly Operation[]> {
  const found = new Map<string, Operation[]>();
  for (const operation of operations) {
    const name = operation.group.join("/");
    found.set(name, [...(found.get(name) ?? []), operation]);
  }
  return found;
}

export function describeOperation(operation: Operation): DescribedOperation {
  const method = loadDescription().paths[operation.path]?.[operation.method.toLowerCase()];
  if (!method) throw new Error(`describe ${operation.id}: it is not in openapi.json`);
  const { parameters = [] } = method;
  const body = method.requestBody?.content?.["application/json"]?.schema;
  const schema = body === undefined ? undefined : plainSchema(body);
  return {
    ...operation,
    summary: method.summary,
    doc: method.description ?? "",
    ids: [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string),
    fields: schema?.properties ?? {},
    required: schema?.required ?? [],
    queryDocs: Object.fromEntries(parameters.map((one) => [one.name, one.description ?? ""])),
    switches: new Set(parameters.flatMap((one) => (one.schema?.type === "boolean" ? [one.name] : []))),
  };
}

/** Returns the schema with references resolved and without `null`. */
export function plainSchema(schema: Schema): Schema {
  const { description: own } = schema;
  const documented = (found: Schema): Schema => (own === undefined ? found : { ...found, description: own });
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
    return plainSchema(loadDescription().components.schemas[name] ?? {});
  }
  if (schema.allOf?.[0]) return documented(plainSchema(schema.allOf[0]));
  const some = schema.anyOf?.find((one) => one.type !== "null");
  if (some) return documented(plainSchema(some));
  if (Array.isArray(schema.type)) {
    const types = schema.type as readonly string[];
    return { ...schema, type: types.find((type) => type !== "null") ?? "null" };
  }
  return schema;
}

/** `ip_policies` → `ipPolicies`. */
export function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
