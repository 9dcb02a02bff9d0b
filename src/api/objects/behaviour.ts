/** Behaviour of resources beyond their declaration. Each has its own file in `behaviours/`. */
import type { Doc } from "../../schema/doc.ts";
import type { Fields, StoredOf } from "../../schema/fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import type { ApiPrincipal } from "../operation/call.ts";

export interface Preparation<D = Doc> {
  readonly draft: Draft;
  readonly accountId: string;
  readonly principal: Pick<ApiPrincipal, "operator" | "scope" | "expiresAtMs">;
  /** The caller's address. */
  readonly source: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Complete and valid. */
  readonly doc: D;
  /** Undefined on creation. */
  readonly previous: StoredObject<D> | undefined;
}

export interface Behaviour<D = Doc> {
  /**
   * Completes a document in the write that stores it, with values that depend on other objects or are random. Throws
   * `Refusal`. `shown`: values for this reply only.
   */
  prepare?(input: Preparation<D>): { readonly doc: D; readonly shown?: Doc };
  /** Makes further changes in the same write, once the object has its id. */
  created?(draft: Draft, object: StoredObject<D>): { readonly shown?: Doc };
  /** Throws `Refusal` if live state prevents the deletion of the object. */
  deleting?(object: StoredObject<D>, draft: Draft): void;
  /** Returns the values of its live fields, see `LiveValues`. */
  readonly live?: (object: StoredObject<D>, baseUrl: string) => Doc;
  /**
   * Returns `doc` as a user configured it, without the values that the server set. Undefined if the server created the
   * object.
   */
  configured?(doc: D): D | undefined;
}

/** Behaviours by kind of object. */
export type Behaviours = Readonly<Record<string, Behaviour>>;

/** Returns an entry of `Behaviours` for `resource`. The behaviour gets documents with the declared type. */
export function behaviourOf<F extends Fields>(
  { name }: Pick<ResourceDeclaration<F>, "name" | "fields">,
  behaviour: Behaviour<StoredOf<F>>,
): readonly [kind: string, behaviour: Behaviour] {
  // Objects of this kind always have such documents.
  return [name, behaviour as unknown as Behaviour];
}
