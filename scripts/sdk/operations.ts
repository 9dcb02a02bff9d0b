/** Maps each operation of `openapi.json` to its group and verb in the SDK and on the command line. */
import { refName } from "../../src/api/description/description.ts";
import type { ApiDescription, DescribedOperation, Parameter, Schema } from "../../src/api/description/description.ts";

export interface SdkOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  /** The path's words without its parameters; empty for operations without a resource. */
  readonly group: readonly string[];
  readonly verb: string;
  /** Names of the path's parameters, in order. */
  readonly parameters: readonly string[];
  readonly query: readonly Parameter[];
  readonly body: Schema | undefined;
  readonly bodyOptional: boolean;
  readonly answers: "object" | "list" | "text" | "nothing";
  /** For a list, the schema of one object. */
  readonly answer: Schema | undefined;
  readonly listKey: string | undefined;
}

export function sdkOperations(api: ApiDescription): SdkOperation[] {
  const found = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => readOperation(api, path, method.toUpperCase(), operation)),
  );
  const places = new Map<string, string>();
  for (const { group, verb, id } of found) {
    const place = [...group, verb].join(".");
    const other = places.get(place);
    if (other !== undefined) throw new Error(`place ${id} in the SDK: ${place} is taken by ${other}`);
    places.set(place, id);
  }
  return found;
}

function readOperation(api: ApiDescription, path: string, method: string, operation: DescribedOperation): SdkOperation {
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"))?.[1];
  const answer = success?.content?.["application/json"]?.schema;
  const listed = answer?.$ref === undefined ? undefined : api.components.schemas[refName(answer.$ref)];
  const isList = listed?.properties?.["next_page_uri"] !== undefined;
  const list = isList ? Object.entries(listed.properties ?? {}).find(([, one]) => one.type === "array") : undefined;
  return {
    id: operation.operationId,
    method,
    path,
    summary: operation.summary,
    ...placeOf(api, path, method, operation, isList),
    parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string),
    // `beforeId` is another spelling of `before_id`, for other clients.
    query: (operation.parameters ?? []).filter((one) => one.in === "query" && !/[A-Z]/.test(one.name)),
    body: operation.requestBody?.content?.["application/json"]?.schema,
    bodyOptional: method === "POST" && operation.requestBody?.required !== true,
    answers: isList ? "list" : answer ? "object" : success?.content ? "text" : "nothing",
    answer: list ? list[1].items : answer,
    listKey: list?.[0],
  };
}

/** Derives the group from the words of the path. Public operations belong to the server, with their own names. */
function placeOf(
  api: ApiDescription,
  path: string,
  method: string,
  operation: DescribedOperation,
  isList: boolean,
): { readonly group: readonly string[]; readonly verb: string } {
  const words = path.split("/").filter((word) => word !== "" && !word.startsWith("{"));
  const last = words.at(-1) as string;
  if (operation.security?.length === 0) return { group: [], verb: toSnakeCase(operation.operationId) };
  if (method === "POST" && !operation.operationId.startsWith("create"))
    return { group: words.slice(0, -1), verb: isForAll(api, path) ? `${last}_all` : last };
  if (method === "GET" && !isList && words.length === 1 && !path.includes("{")) return { group: [], verb: last };
  return { group: words, verb: isList ? "list" : (verbs[method] as string) };
}

/** Whether the operation does for all objects that match what another does for one. */
function isForAll(api: ApiDescription, path: string): boolean {
  const [, collection, command] = /^\/(\w+)\/(\w+)$/.exec(path) ?? [];
  return collection !== undefined && api.paths[`/${collection}/{id}/${command}`] !== undefined;
}

const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  POST: "create",
  PATCH: "update",
  PUT: "replace",
  DELETE: "delete",
};

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]+(?![a-z])|[A-Z]/g, (capitals) => `_${capitals.toLowerCase()}`);
}

/** `ip_policies` → `ipPolicies`. */
export function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
