import type { ModulePlace } from "./object.ts";
import type { PackedPaths } from "./packed-paths.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { Fields, Issue, Rule, StoredOf } from "./fields.ts";

/**
 * A name that at most one object may hold, in its account or, with `global`, on the whole server. `space` separates
 * kinds of names, such as "hostport".
 */
export interface ObjectClaim {
  readonly space: string;
  readonly name: string;
  readonly global?: boolean;
  /**
   * The name is a host name: a `*.` prefix covers all names below. One account's wildcard and another's name below it
   * exclude each other, in either order (control R5).
   */
  readonly hosts?: boolean;
  /** Path of the field with the name; absent for generated names. */
  readonly at?: string;
  /** Claims of the account with the same word share the name. */
  readonly sharedAs?: string;
}

/** A name that the account must hold itself, or for a host, cover with a wildcard. */
export interface Use {
  readonly space: string;
  readonly name: string;
}

export interface ResourceDeclaration<F extends Fields = Fields> {
  /** The kind in singular snake_case: also the storage kind, the prefix of audit events, and the SDK's name. */
  readonly name: string;
  /** Schema name in OpenAPI, such as `IPPolicyRule`. */
  readonly schemaName: string;
  /** Collection path, with a parent's id as `{edge_id}`. */
  readonly path: string;
  /** Key of the list in list responses. */
  readonly listKey: string;
  readonly idPrefix: string;
  readonly doc: string;
  readonly fields: F;
  /** Modules that can be attached to it, in the body and on their own paths. */
  readonly modulesOn?: ModulePlace;
  /** Supported operations; others answer 405. Default: all five. */
  readonly operations?: readonly DeclaredOperation[];
  /**
   * The field (a ref's input name) with the owner's id. The object is deleted with its owner, and belongs to the same
   * account.
   */
  readonly ownedBy?: { readonly kind: string; readonly field: string };
  /** Whether the data plane needs it; `referred`: only while another object refers to it. */
  readonly traffic?: boolean | "referred";
  /** Names that it holds. A conflict is refused with `taken` (409 with the holder in `details`). */
  claims?(doc: StoredOf<F>): readonly ObjectClaim[];
  readonly taken?: RefusalName;
  /** Names that it serves or depends on. Their holder in the account cannot be deleted first (`in_use`). */
  uses?(doc: StoredOf<F>): readonly Use[];
  /** Further refusals of writes, because of its rules or its effects. */
  readonly refusals?: readonly RefusalName[];
  /** Constraints across fields, as pure functions that return the issue or undefined. */
  readonly rules?: readonly Rule<StoredOf<F>>[];
  /** Warnings for valid but probably unintended values, each about the field at the start of its path. Pure. */
  doubts?(doc: StoredOf<F>): readonly Issue[];
  /** Computes read-only fields from the given ones, such as a certificate's dates, or returns an issue. Pure. */
  derive?(doc: StoredOf<F>): Partial<StoredOf<F>> | Issue;
  /** Fields that DELETE on their own path unsets, by input name. */
  readonly clears?: readonly { readonly path: string; readonly input: string }[];
  /** Not stored but reported by the data plane; read-only. */
  readonly live?: boolean;
  /** Belongs to the server instead of an account. Only operator keys have access. */
  readonly operatorOnly?: boolean;
  /** Issued and revoked permanently, like keys: documents do not contain it, and a rollback does not change it. */
  readonly issued?: boolean;
  /**
   * Created, changed and deleted automatically many times a day. The server's own writes have no revision, history,
   * audit record or quota. Writes by a key do.
   */
  readonly unrecorded?: boolean;
  /**
   * Very numerous, so documents are stored, cached and sent packed: each stored value is in one of the lists, with the
   * values shared by other objects separate (`schema/packed.ts`).
   */
  readonly packed?: PackedPaths;
  /** Stored, but without API operations. */
  readonly internal?: boolean;
  /** Fields, or `id`, that can filter lists: repeatable query parameters. */
  readonly narrowedBy?: readonly string[];
  /** Other paths that serve the same objects, with their list key. */
  readonly aliases?: readonly { readonly path: string; readonly listKey: string }[];
}

export type DeclaredOperation = "create" | "get" | "list" | "update" | "delete";

export function defineResource<const F extends Fields>(declaration: ResourceDeclaration<F>): ResourceDeclaration<F> {
  return declaration;
}
