import type { ResourceObject } from "../../schema/object.ts";
import type { CompiledCredential } from "../sites/compiled-site.ts";
import { nothing } from "./units.ts";
import type { Compilation, Compiler, Owner } from "./compilation.ts";
import { docOf } from "../../schema/doc.ts";
import { botUser } from "../../resources/bot-user.ts";
import { credential as credentials } from "../../resources/credential.ts";

interface CredentialOwner extends Owner {
  credential: CompiledCredential | undefined;
}

/** Agent tokens, looked up by fingerprint. */
export class CredentialCompiler implements Compiler<CredentialOwner> {
  readonly kind = credentials.name;
  readonly owners = new Map<string, CredentialOwner>();
  readonly #compilation: Compilation;
  readonly #byFingerprint = new Map<string, CompiledCredential>();

  constructor(compilation: Compilation) {
    this.#compilation = compilation;
  }

  find(fingerprint: string): CompiledCredential | undefined {
    return this.#byFingerprint.get(fingerprint);
  }

  own(object: ResourceObject): CredentialOwner {
    return { object, problem: undefined, dependencies: nothing, kept: nothing, credential: undefined };
  }

  compile(owner: CredentialOwner): void {
    const { object } = owner;
    const { id, account_id: accountId } = object;
    const { owner_id: ownerId, token_hash, acl, expires_at: expiresAt, fingerprint } = docOf(object, credentials);
    owner.credential = Object.freeze({
      id,
      accountId,
      tokenHash: Buffer.from(token_hash, "hex"),
      acl: acl,
      active: this.#compilation.units.compile(
        owner,
        object,
        (scope) => !ownerId || isActiveOwner(scope.get(botUser.name, ownerId)),
      ),
      expiresAtMs: expiresAt ? Date.parse(expiresAt) : undefined,
    });
    this.#byFingerprint.set(fingerprint, owner.credential);
  }

  withdraw(owner: CredentialOwner): void {
    if (owner.credential) this.#byFingerprint.delete(docOf(owner.object, credentials).fingerprint);
    owner.credential = undefined;
  }
}

export function isActiveOwner(owner: ResourceObject | undefined): boolean {
  return owner !== undefined && docOf(owner, botUser).active;
}
