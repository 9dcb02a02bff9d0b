/** Reads kinds of objects and their forms from the API's description on first use. */
import { errorCodes } from "../../../sdk/src/index.ts";
import { methodOf } from "./api.ts";
import type { Json } from "./api.ts";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly "x-default"?: Json;
  readonly examples?: readonly Json[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly "x-ref"?: readonly string[];
  readonly "x-secret"?: boolean;
  readonly "x-format"?: string;
  readonly "x-max-bytes"?: number;
}

/** A kind of objects, and the operations on them by id. */
export interface Kind {
  readonly name: string;
  readonly path: string;
  readonly doc: string;
  /** Number of ids in its path before its own. */
  readonly parents: number;
  readonly list?: string;
  readonly get?: string;
  readonly create?: string;
  readonly update?: string;
  readonly remove?: string;
  /** Whether only operators' keys may list them. */
  readonly operatorOnly?: boolean;
  /** Commands on an object, besides changes. */
  readonly commands: readonly { readonly name: string; readonly operationId: string }[];
  readonly shown: Schema;
  readonly createSchema?: Schema;
  readonly updateSchema?: Schema;
}

interface PathItem {
  readonly operationId: string;
  readonly tags?: readonly string[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body & { readonly description: string }>>;
}

interface Body {
  readonly required?: boolean;
  readonly content?: { readonly "application/json"?: { readonly schema: Schema } };
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, PathItem>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface Description {
  readonly api: OpenApi;
  readonly kinds: ReadonlyMap<string, Kind>;
  /** Returns the schema with references resolved and without null. */
  resolve(schema: Schema): Schema;
}

let loading: Promise<Description> | undefined;

export function loadDescription(): Promise<Description> {
  loading ??= fetchDescription().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function fetchDescription(): Promise<Description> {
  const api = (await methodOf("getOpenAPI")()) as OpenApi;
  const { schemas } = api.components;
  const resolve = (schema: Schema): Schema => {
    if (schema.$ref !== undefined) {
      const found = schemas[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)] ?? {};
      return { ...found, ...(schema.description !== undefined && { description: schema.description }) };
    }
    if (schema.anyOf) {
      const [one] = schema.anyOf.filter(({ type }) => type !== "null");
      return { ...resolve(one ?? {}), ...(schema.description !== undefined && { description: schema.description }) };
    }
    return schema;
  };
  const kinds = new Map<string, Kind>();
  for (const [path, items] of Object.entries(api.paths)) {
    const isOne = path.endsWith("{id}");
    const collection = isOne ? path.slice(0, path.lastIndexOf("/")) : path;
    for (const [method, item] of Object.entries(items)) {
      const name = item.tags?.[0];
      if (name === undefined || /At[A-Z]/.test(item.operationId)) continue;
      const role = roleOf(method, isOne, item.operationId);
      if (!role) continue;
      const before = kinds.get(name) ?? {
        name,
        path: collection,
        doc: "",
        parents: (collection.match(/\{/g) ?? []).length,
        shown: {},
        commands: [],
      };
      if (before.path !== collection) continue;
      const body = item.requestBody?.content?.["application/json"]?.schema;
      const answer = item.responses["200"]?.content?.["application/json"]?.schema;
      const shown = role === "get" && answer ? resolve(answer) : before.shown;
      kinds.set(name, {
        ...before,
        [role]: item.operationId,
        shown,
        doc: shown.description ?? before.doc,
        ...(role === "list" && { operatorOnly: mayRefuse(item, errorCodes.operator_only) }),
        ...(body && role === "create" && { createSchema: resolve(body) }),
        ...(body && role === "update" && { updateSchema: resolve(body) }),
      });
    }
  }
  for (const kind of kinds.values()) {
    const start = `${kind.path}/{id}/`;
    const operations = Object.entries(api.paths).flatMap(([path, items]) => {
      const item = path.startsWith(start) && path.lastIndexOf("/") === start.length - 1 ? items["post"] : undefined;
      // A command that requires input has a separate view.
      const { required = [] } = item?.requestBody?.content?.["application/json"]?.schema ?? {};
      const isIts =
        item?.tags?.[0] === kind.name && required.length === 0 && item.operationId.startsWith(path.slice(start.length));
      return item && isIts ? [{ name: path.slice(start.length), operationId: item.operationId }] : [];
    });
    kinds.set(kind.name, { ...kind, commands: operations });
  }
  return { api, kinds: new Map([...kinds].filter(([, kind]) => kind.get !== undefined)), resolve };
}

/** Whether the operation may fail with the code. */
function mayRefuse({ responses }: PathItem, code: string): boolean {
  return Object.values(responses).some(({ description }) => description?.split(", ").includes(code));
}

function roleOf(
  method: string,
  isOne: boolean,
  operationId: string,
): "list" | "get" | "create" | "update" | "remove" | undefined {
  if (!isOne) {
    if (method === "get" && operationId.startsWith("list")) return "list";
    return method === "post" && operationId.startsWith("create") ? "create" : undefined;
  }
  return ({ get: "get", patch: "update", delete: "remove" } as const)[method];
}

/** Kinds that people know by other words. */
const usual: Readonly<Record<string, string>> = { credential: "Agent token", tunnel_session: "Agent session" };

/** `ip_policy_rule` → `IP policy rule`. */
export function titleOf(name: string): string {
  const known = usual[name];
  if (known !== undefined) return known;
  const words = name
    .replaceAll("_", " ")
    .replaceAll(/\b(cidr|ip|tls|tcp|https|http|oidc|saml|acme|api|acl|url|uri|mcp|sso|ssh)\b/g, (word) =>
      word.toUpperCase(),
    )
    .replaceAll(/\boauth\b/g, "OAuth")
    .replaceAll(/\bwebsocket\b/g, "WebSocket")
    .replaceAll(/\baddr\b/g, "address");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Converts an object to input: `ip_policy` of a response becomes `ip_policy_id`. */
export function inputOf(object: Json, schema: Schema, resolve: Description["resolve"]): Json {
  if (typeof object !== "object" || object === null || Array.isArray(object)) return object;
  const fields = object as Readonly<Record<string, Json>>;
  if (!schema.properties) return object;
  const input: Record<string, Json> = {};
  for (const [name, given] of Object.entries(schema.properties)) {
    const field = resolve(given);
    const value = fields[name] ?? resolveReference(fields, name);
    if (value === undefined) continue;
    input[name] = field.properties ? inputOf(value, field, resolve) : value;
  }
  return input;
}

function resolveReference(fields: Readonly<Record<string, Json>>, name: string): Json | undefined {
  const idOf = (value: Json | undefined): Json => (value as { readonly id?: string } | null)?.id ?? null;
  if (name.endsWith("_id")) {
    const value = fields[name.slice(0, -3)];
    return value === undefined ? undefined : idOf(value);
  }
  if (!name.endsWith("_ids")) return undefined;
  const base = name.slice(0, -4);
  const value = [base, `${base}s`, base.replace(/y$/, "ies")]
    .map((one) => fields[one])
    .find((one) => one !== undefined);
  return Array.isArray(value) ? (value as readonly Json[]).map(idOf) : undefined;
}

/** Returns the kind of an id by its prefix. */
export function kindOfId(id: string, { kinds }: Description): string | undefined {
  const prefix = `^${id.slice(0, id.indexOf("_"))}_`;
  for (const kind of kinds.values()) {
    const pattern = (kind.shown.properties?.["id"] as { readonly pattern?: string } | undefined)?.pattern;
    if (pattern?.startsWith(prefix)) return kind.name;
  }
  return undefined;
}

/** Returns the schema of an operation's body. */
export function bodyOf({ paths }: OpenApi, operationId: string): Schema {
  const items = Object.values(paths).flatMap((one) => Object.values(one));
  const found = items.find((one) => one.operationId === operationId);
  return found?.requestBody?.content?.["application/json"]?.schema ?? {};
}
