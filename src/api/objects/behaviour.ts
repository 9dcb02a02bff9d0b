/** What some resources do beyond their declaration; one file each in `behaviours/`. */
import type { Doc } from "../../schema/doc.ts";
import type { Fields, StoredOf } from "../../schema/fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import type { ApiPrincipal } from "../operation/call.ts";

export interface Preparation<D = Doc> {
  readonly draft: Draft;
  readonly accountId: string;
  readonly principal: Pick<ApiPrincipal, "operator" | "expiresAtMs">;
  /** The caller's address. */
  readonly source: string;
  /** Complete and valid by itself. */
  readonly doc: D;
  /** Absent on creation. */
  readonly previous: StoredObject<D> | undefined;
}

export interface Behaviour<D = Doc> {
  /**
   * Completes a document in the write that stores it: what follows from other objects or from chance.
   * Throws `Refusal`. `shown`: values that only this one reply has.
   */
  prepare?(input: Preparation<D>): { readonly doc: D; readonly shown?: Doc };
  /** What else the write does, once the object has its id. */
  created?(draft: Draft, object: StoredObject<D>): { readonly shown?: Doc };
  /** Throws `Refusal` when something that is not stored keeps the object from being deleted. */
  deleting?(object: StoredObject<D>, draft: Draft): void;
  /** Values of its live fields, see `LiveValues`. */
  readonly live?: (object: StoredObject<D>, baseUrl: string) => Doc;
  /** `doc` as somebody has configured it, without what the server set by itself; undefined for what it made. */
  configured?(doc: D): D | undefined;
}

/** Behaviours by the kind of the objects. */
export type Behaviours = Readonly<Record<string, Behaviour>>;

/** The behaviour of the objects of `resource`, an entry of `Behaviours`: it reads documents as they are declared. */
export function behaviourOf<F extends Fields>(
  { name }: Pick<ResourceDeclaration<F>, "name" | "fields">,
  behaviour: Behaviour<StoredOf<F>>,
): readonly [kind: string, behaviour: Behaviour] {
  // Objects of the kind have such documents: nothing else is stored under its name.
  return [name, behaviour as unknown as Behaviour];
}
