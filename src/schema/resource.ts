import type { Place } from "./object.ts";
import type { PackedPaths } from "./packed.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { Fields, Issue, Rule, StoredOf } from "./fields.ts";

/**
 * A name that at most one object may hold, in its account or, with `global`, on the whole server.
 * `space` keeps different kinds of names apart, e.g. "hostport".
 */
export interface Claim {
  readonly space: string;
  readonly name: string;
  readonly global?: boolean;
  /**
   * The name is of hosts: a `*.` before it covers what is below. One account's wildcard and another's name under it
   * exclude each other, whichever was there first (control R5).
   */
  readonly hosts?: boolean;
  /** Path of the field that has the name; absent for names that no client gives. */
  readonly at?: string;
  /** Others of the account that hold the name under the same word hold it beside this one. */
  readonly sharedAs?: string;
}

/** A name of which the account has to be the holder, itself or, of a host, by a wildcard. */
export interface Use {
  readonly space: string;
  readonly name: string;
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
  /** Whether the data plane needs it; `referred`: only while something refers to it. */
  readonly traffic?: boolean | "referred";
  /** Names it holds; a clash is refused with `taken` (409 with the holder in `details`). */
  claims?(doc: StoredOf<F>): readonly Claim[];
  readonly taken?: RefusalName;
  /** Names that it serves or relies on: their holder in the account cannot be deleted before it (`in_use`). */
  uses?(doc: StoredOf<F>): readonly Use[];
  /** What writes of it may be refused with beyond that and its fields: by its rules, or for what it does. */
  readonly refusals?: readonly RefusalName[];
  /** What must hold between fields: pure; each returns what is wrong, or undefined. */
  readonly rules?: readonly Rule<StoredOf<F>>[];
  /** What is allowed, and probably not meant; each about the field that its path begins with: pure. */
  doubts?(doc: StoredOf<F>): readonly Issue[];
  /** Read-only fields that follow from the given ones (a certificate's dates): pure; or what is wrong with them. */
  derive?(doc: StoredOf<F>): Partial<StoredOf<F>> | Issue;
  /** Fields that DELETE on a path of their own unsets, by their input name. */
  readonly clears?: readonly { readonly path: string; readonly input: string }[];
  /** Not stored but reported by the data plane: reads only. */
  readonly live?: boolean;
  /** Belongs to the server, not to an account: only operators' keys reach it. */
  readonly operatorOnly?: boolean;
  /** Handed out and revoked for good, as keys are: documents do not hold it, and a rollback leaves it as it is. */
  readonly issued?: boolean;
  /**
   * Comes, changes and goes by itself, many times a day: what the server writes of it is in no revision, no history and
   * no part of the audit chain, and counts towards no quota. What a key writes is.
   */
  readonly unrecorded?: boolean;
  /**
   * There are so many that documents are stored, kept and sent packed: every stored value is in one of the lists, by what
   * it has in common with other objects' (`schema/packed.ts`).
   */
  readonly packed?: PackedPaths;
  /** Stored, but without operations of its own. */
  readonly internal?: boolean;
  /** Fields, or `id`, by whose values lists can be narrowed: query parameters that may be repeated. */
  readonly narrowedBy?: readonly string[];
  /** Other paths that serve the same objects, with the list key used there. */
  readonly aliases?: readonly { readonly path: string; readonly listKey: string }[];
}

export type Operation = "create" | "get" | "list" | "update" | "delete";

export function defineResource<const F extends Fields>(declaration: ResourceDeclaration<F>): ResourceDeclaration<F> {
  return declaration;
}
