/** Converts objects to documents, for users who continue with a copy in a file. */
import type { ApiObject, Json, JsonObject } from "./api.ts";
import { inputOf } from "./description.ts";
import type { Description, Kind, Schema } from "./description.ts";

/** Placeholder for a secret that stays unchanged. */
const unchanged: Json = { $unchanged: true };

/** Returns a document as YAML, see `documentOf`. */
export function asDocument(...parameters: Parameters<typeof documentOf>): string | undefined {
  const document = documentOf(...parameters);
  const [kind] = parameters;
  return document && `objects:\n  ${kind.name}:\n    NAME: ${JSON.stringify(document.objects[kind.name]?.["NAME"])}\n`;
}

/** Returns a document with the object, or with `input`. Returns undefined for kinds that documents cannot contain. */
export function documentOf(
  kind: Kind,
  parents: readonly string[],
  object: ApiObject | undefined,
  input: JsonObject,
  description: Description,
): { readonly objects: Readonly<Record<string, JsonObject>> } | undefined {
  const { api, resolve } = description;
  const held = api.components.schemas["Document"]?.properties?.["objects"]?.properties ?? {};
  if (!(kind.name in held)) return undefined;
  const { properties = {}, required = [] } = kind.createSchema ?? {};
  const shown = object ? (inputOf(object, kind.createSchema ?? {}, resolve) as Readonly<Record<string, Json>>) : {};
  const fields: Record<string, Json> = { ...ownersOf(kind, parents) };
  for (const [name, schema] of Object.entries(properties)) {
    const value = input[name] ?? shown[name];
    if (value !== undefined) fields[name] = object ? withoutSecrets(value, resolve(schema), resolve) : value;
    // Values that the API never returns cannot be copied.
    else if (object && required.includes(name)) fields[name] = unchanged;
  }
  return { objects: { [kind.name]: { NAME: { ...(object && { id: object.id }), ...fields } } } };
}

/** Returns the ids in the path of the kind, by their names. */
function ownersOf({ path }: Kind, parents: readonly string[]): Readonly<Record<string, Json>> {
  return Object.fromEntries(Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""], at) => [name, parents[at] ?? ""]));
}

function withoutSecrets(value: Json, schema: Schema, resolve: Description["resolve"]): Json {
  if (schema["x-secret"] === true) return value === "" || value === null ? value : unchanged;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, Json>>).map(([name, inner]) => {
      const own = schema.properties?.[name];
      return [name, own ? withoutSecrets(inner, resolve(own), resolve) : inner];
    }),
  );
}
