/** The properties of each kind that storage needs, read once from its declaration. */
import type { RefusalName } from "../../lib/errors.ts";
import type { ModuleDeclaration } from "../../traffic/module.ts";
import { f } from "../../schema/fields.ts";
import type { Field, Fields } from "../../schema/fields.ts";
import { emptyValue, inputName } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import { packingOf } from "../../schema/packed.ts";
import type { Packing } from "../../schema/packed.ts";
import { findReferences, referringFields } from "../../schema/references.ts";
import type { Reference } from "../../schema/references.ts";
import type { ObjectClaim, ResourceDeclaration, Use } from "../../schema/resource.ts";

export interface Declarations {
  readonly resources: readonly ResourceDeclaration[];
  readonly modules: readonly ModuleDeclaration[];
}

export interface Kind {
  readonly name: string;
  readonly idPrefix: string;
  /** Includes one nullable object per module that can be attached. */
  readonly fields: Fields;
  readonly owner: { readonly kind: string; readonly field: string } | undefined;
  /** Kinds whose objects it may own. */
  readonly owns: readonly string[];
  readonly taken: RefusalName;
  readonly unrecorded: boolean;
  /** Defined for kinds with so many objects that they are stored packed. */
  readonly packing: Packing | undefined;
  claims(doc: Doc): readonly ObjectClaim[];
  uses(doc: Doc): readonly Use[];
  references(doc: Doc): readonly Reference[];
  /** Sets defaults for fields that were declared after `doc` was stored. */
  complete(doc: Record<string, unknown>): Doc;
}

export type Kinds = ReadonlyMap<string, Kind>;

/** Used if the declarations contain no account. */
const plainAccount = {
  name: "account",
  idPrefix: "ac",
  fields: { name: f.string("Name of the account.", { required: true }) },
  claims: ({ name }: { readonly name: string }) => [{ space: "account_name", name, global: true }],
} as unknown as ResourceDeclaration;

export function kindsOf({ resources, modules }: Declarations): Kinds {
  const all = resources.some(({ name }) => name === "account") ? resources : [plainAccount, ...resources];
  const stored = all.filter((resource) => !resource.live);
  return new Map(stored.map((resource) => [resource.name, kindOf(resource, modules, stored)]));
}

function kindOf(
  resource: ResourceDeclaration,
  modules: readonly ModuleDeclaration[],
  all: readonly ResourceDeclaration[],
): Kind {
  const place = resource.modulesOn;
  const attached = modules.filter((module) => place !== undefined && module.on.includes(place));
  const fields: Fields = {
    ...resource.fields,
    ...Object.fromEntries(attached.map((one) => [one.name, moduleField(one)])),
  };
  const referring = referringFields(fields);
  const owner = resource.ownedBy;
  const ownerIsReference = Object.entries(fields).some(
    ([name, field]) => field.type === "ref" && inputName(name, field) === owner?.field,
  );
  return {
    name: resource.name,
    idPrefix: resource.idPrefix,
    fields,
    owner,
    owns: all.filter((other) => other.ownedBy?.kind === resource.name).map(({ name }) => name),
    taken: resource.taken ?? "name_taken",
    unrecorded: resource.unrecorded ?? false,
    packing: resource.packed && packingOf(resource.packed, (path) => emptyAt(fields, path)),
    claims: (doc) => resource.claims?.(doc as never) ?? [],
    uses: (doc) => resource.uses?.(doc as never) ?? [],
    references(doc) {
      const found = findReferences(referring, doc);
      if (owner && !ownerIsReference) {
        found.push({ path: owner.field, to: [owner.kind], id: doc[owner.field] as string });
      }
      return found;
    },
    complete: makeCompletion(fields),
  };
}

function moduleField(module: ModuleDeclaration): Field {
  const fields = {
    enabled: f.boolean("Whether the module is applied to traffic.", { default: true }),
    ...module.fields,
  };
  return { type: "object", doc: module.doc, nullable: true, default: null, fields };
}

function emptyAt(fields: Fields, path: string): unknown {
  const [name, inner] = path.split(".") as [string, string?];
  const found = storedFields(fields).find(([key]) => key === name)?.[1];
  if (!found) throw new Error(`pack "${path}": the field does not exist`);
  if (inner === undefined) return emptyValue(found);
  if (found.type !== "object" || found.nullable) throw new Error(`pack "${path}": "${name}" may be without it`);
  return emptyAt(found.fields, inner);
}

function storedFields(fields: Fields): [string, Field][] {
  return Object.entries(fields)
    .filter(([, field]) => !field.live)
    .map(([name, field]) => [inputName(name, field), field]);
}

function makeCompletion(fields: Fields): (doc: Record<string, unknown>) => Doc {
  const stored = storedFields(fields).map(([key, field]) => ({
    key,
    value: emptyValue(field),
    inner: field.type === "object" ? makeCompletion(field.fields) : undefined,
  }));
  return (doc) => {
    for (const { key, value, inner } of stored) {
      const present = doc[key];
      if (present === undefined) doc[key] = value;
      else if (inner && present !== null) inner(present as Record<string, unknown>);
    }
    return doc;
  };
}
