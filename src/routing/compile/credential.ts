import type { ResourceObject } from "../../schema/object.ts";
import type { CompiledCredential } from "../sites/compiled.ts";
import { nothing } from "./units.ts";
import type { Compilation, Compiler, Owner } from "./compilation.ts";

interface CredentialOwner extends Owner {
  credential: CompiledCredential | undefined;
}

/** Agent tokens, looked up by fingerprint. */
export class CredentialCompiler implements Compiler<CredentialOwner> {
  readonly kind = "credential";
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
    const { id, account_id: accountId, doc } = object;
    const ownerId = typeof doc["owner_id"] === "string" ? doc["owner_id"] : "";
    owner.credential = Object.freeze({
      id,
      accountId,
      tokenHash: Buffer.from(String(doc["token_hash"]), "hex"),
      acl: Array.isArray(doc["acl"]) ? (doc["acl"] as string[]) : nothing,
      active: this.#compilation.units.compile(
        owner,
        object,
        (scope) => ownerId === "" || scope.get("bot_user", ownerId)?.doc["active"] === true,
      ),
      expiresAtMs: typeof doc["expires_at"] === "string" ? Date.parse(doc["expires_at"]) : undefined,
    });
    this.#byFingerprint.set(String(doc["fingerprint"]), owner.credential);
  }

  withdraw(owner: CredentialOwner): void {
    if (owner.credential) this.#byFingerprint.delete(String(owner.object.doc["fingerprint"]));
    owner.credential = undefined;
  }
}
