/** Reads the API from the lists of resources and modules, without naming any of them. */
import { modules } from "../../modules/index.ts";
import type { ModuleDeclaration } from "../../traffic/module.ts";
import { resources as bare } from "../../resources/index.ts";
import { f } from "../../schema/fields.ts";
import type { Fields, ObjectField } from "../../schema/fields.ts";
import type { ModulePlace } from "../../schema/object.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";

/** The resources, with attached modules as nullable blocks among their fields. */
export const resources: readonly ResourceDeclaration[] = bare.map((resource) =>
  resource.modulesOn ? { ...resource, fields: { ...resource.fields, ...moduleFields(resource.modulesOn) } } : resource,
);

const byName = new Map(resources.map((resource) => [resource.name, resource]));
const byPrefix = new Map(resources.map((resource) => [resource.idPrefix, resource]));

export function resourceNamed(name: string): ResourceDeclaration {
  const found = byName.get(name);
  if (!found) throw new Error(`find resource "${name}": not declared`);
  return found;
}

/** Returns the kinds of objects that belong to objects of `kind` and are deleted with them. */
export function ownedKinds(kind: string): readonly string[] {
  return owned.get(kind) ?? [];
}

const owned = new Map(
  resources.map(({ name }) => [
    name,
    resources.filter(({ ownedBy }) => ownedBy?.kind === name).map((resource) => resource.name),
  ]),
);

/** Returns names in the path of the collection, such as `edge_id`. */
export function pathParameters(resource: ResourceDeclaration): readonly string[] {
  return parametersOf.get(resource) ?? [];
}

const parametersOf = new Map(
  resources.map((resource) => [resource, [...resource.path.matchAll(/\{(\w+)\}/g)].map((found) => found[1] as string)]),
);

/** Returns the resource of an id, by its prefix. */
export function resourceOfId(id: string): ResourceDeclaration | undefined {
  return byPrefix.get(id.slice(0, id.indexOf("_")));
}

/** Returns the modules that are attached to `resource`, in traffic order, with the field of each. */
export function modulesOf(resource: ResourceDeclaration): readonly [ModuleDeclaration, ObjectField][] {
  const place = resource.modulesOn;
  if (!place) return [];
  return modules
    .filter((module) => module.on.includes(place))
    .map((module) => [module, resource.fields[module.name] as ObjectField]);
}

function moduleFields(place: ModulePlace): Fields {
  const attached = modules.filter((module) => module.on.includes(place));
  return Object.fromEntries(attached.map((module) => [module.name, moduleField(module, place)]));
}

function moduleField(module: ModuleDeclaration, place: ModulePlace): ObjectField {
  return {
    type: "object",
    doc: module.doc,
    nullable: true,
    schemaName: module.schemaName,
    fields: {
      enabled: f.boolean("True if the module is applied to traffic, false to disable.", { default: true }),
      ...module.fields,
    },
    rules: (module.rules ?? []).map((rule) => (config: never) => rule(config, place)),
    ...(module.doubts && { doubts: (config: never) => module.doubts?.(config, place) ?? [] }),
  };
}
