/** Objects of the frozen hosted service, as its API returns them, with their kinds on this server. */
import { documentKinds } from "../../api/documents/document.ts";
import { resources } from "../../api/operation/resource-declarations.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { SettingPlace } from "../report/report.ts";

/** One object of a response. */
export interface ApiObject {
  readonly place: SettingPlace;
  readonly value: JsonObject;
  readonly id: string;
  /** Undefined for kinds that this server does not have. */
  readonly resource: ResourceDeclaration | undefined;
  /** The object that contains this one in the response, such as the edge of a route. */
  readonly owner?: ApiObject;
}

/** Maximum number of objects of an import. */
export const maxObjects = 10_000;

/** Paths of collections to read from a live service. */
export const collectionPaths: readonly string[] = [
  ...new Set(
    resources
      .filter(({ operatorOnly, internal, operations, path, unrecorded }) => {
        const lists = operations === undefined || operations.includes("list");
        return lists && !operatorOnly && !internal && !unrecorded && !path.includes("{");
      })
      .map(({ path }) => path),
  ),
  // Kinds of the hosted service that this server does not have. The report lists each object.
  "/ssh_host_certificates",
  "/ssh_user_certificates",
];

/** Returns the objects of one response: a list under any key, or a single object. Nested objects follow their owner. */
export function objectsOf(answer: JsonObject, file: string): ApiObject[] {
  if (isApiObject(answer)) return [...withChildren(answer, { file, pointer: "" })];
  return Object.entries(answer).flatMap(([key, list]) =>
    Array.isArray(list)
      ? list.flatMap((value: unknown, index) =>
          isApiObject(value) ? [...withChildren(value, { file, pointer: `/${key}/${index}` })] : [],
        )
      : [],
  );
}

function* withChildren(
  value: JsonObject & { readonly id: string },
  place: SettingPlace,
  owner?: ApiObject,
): Iterable<ApiObject> {
  const resource = resourceOf(value);
  const object = { place, value, id: value.id, resource, ...(owner && { owner }) };
  yield object;
  for (const [name, field] of Object.entries(resource?.fields ?? {})) {
    const children = value[name];
    if (field.type !== "children" || !Array.isArray(children)) continue;
    for (const [index, child] of children.entries()) {
      if (isApiObject(child))
        yield* withChildren(child, { ...place, pointer: `${place.pointer}/${name}/${index}` }, object);
    }
  }
}

function isApiObject(value: unknown): value is JsonObject & { readonly id: string } {
  return typeof value === "object" && value !== null && typeof (value as JsonObject)["id"] === "string";
}

/** Returns the kind by the prefix of the id. Endpoints of agents and cloud endpoints share a prefix. */
function resourceOf(value: JsonObject & { readonly id: string }): ResourceDeclaration | undefined {
  const prefix = value.id.slice(0, value.id.indexOf("_"));
  const found = resources.filter(({ idPrefix, internal }) => idPrefix === prefix && !internal);
  if (found.length < 2) return found[0];
  const isCloud = value["type"] === "cloud";
  return found.find((resource) => documentKinds.includes(resource) === isCloud) ?? found[0];
}
