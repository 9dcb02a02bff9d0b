import type { Role } from "../../resources/person.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import type { Person } from "./admitted-people.ts";
import type { TeamVisit } from "./team-visit.ts";
import type { Key } from "../http/authenticate.ts";

export interface OpenSession {
  readonly object: StoredObject;
  readonly key: Key;
  readonly expiresAtMs: number;
  /** The user, if the identity provider authenticated the session. */
  readonly person?: Person;
  /** The person with their present role, unless a key opened the session. */
  readonly who?: Who;
}

export interface Who {
  readonly email: string;
  readonly name: string;
  readonly role: Role;
}

/** Who opens a session without a key. */
export interface Opener {
  /** Login with the identity provider. */
  readonly visit?: TeamVisit;
  readonly personId?: string | undefined;
  readonly passkeyId?: string;
  /** The user of a key's session. */
  readonly isKey?: boolean;
  /** Further changes in the write that opens the session. Throws `Refusal` to prevent it. */
  also?(draft: Draft): void;
}
