import type { Place } from "./object.ts";
import type { Fields, StoredOf } from "./fields.ts";

/**
 * A name that at most one object may hold, in its account or, with `global`, on the whole server.
 * `space` keeps different kinds of names apart, e.g. "hostport".
 */
export interface Claim {
  readonly space: string;
  readonly name: string;
  readonly global?: boolean;
}

export interface ResourceDeclaration<F extends Fields = Fields> {
  /** Kind, snake_case singular: also the storage kind, the audit event's prefix and the SDK's name. */
  readonly name: string;
  /** Schema name in OpenAPI, e.g. `IPPolicyRule`. */
  readonly schemaName: string;
  /** Collection path; a parent's id as `{edge_id}`. */
  readonly path: string;
  /** Key of the list in list responses. */
  readonly listKey: string;
  readonly idPrefix: string;
  readonly doc: string;
  readonly fields: F;
  /** Places of modules that are attached to it (blocks in create, PATCH, and on paths of their own). */
  readonly modulesOn?: Place;
  /** Absent operations answer 405. All five unless given. */
  readonly operations?: readonly Operation[];
  /** The field (a ref's input name) that names the owner: it goes when the owner goes, and shares its account. */
  readonly ownedBy?: { readonly kind: string; readonly field: string };
  /** Whether the data plane needs it. */
  readonly traffic?: boolean;
  /** Names it holds; a clash is refused with `taken` (409 with the holder in `details`). */
  claims?(doc: StoredOf<F>): readonly Claim[];
  readonly taken?: string;
  /** Facts across fields: pure; each returns what is wrong, or undefined. */
  readonly rules?: readonly ((doc: StoredOf<F>) => { path: string; message: string } | undefined)[];
  /** Not stored but reported by the data plane: reads only. */
  readonly live?: boolean;
}

export type Operation = "create" | "get" | "list" | "update" | "delete";

export function defineResource<const F extends Fields>(declaration: ResourceDeclaration<F>): ResourceDeclaration<F> {
  return declaration;
}
