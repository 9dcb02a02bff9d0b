import { hash } from "node:crypto";
import { botUser } from "../../resources/bot-user.ts";
import type { sshCredential } from "../../resources/ssh-credential.ts";
import { docOf } from "../../schema/doc.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { CompiledCredential } from "../sites/compiled-site.ts";
import type { Compilation, Compiler, Owner } from "./compilation.ts";
import { isActiveOwner } from "./credential.ts";
import { nothing } from "./units.ts";

interface SshKeyOwner extends Owner {
  credential: CompiledCredential | undefined;
}

/** Keys of SSH clients, or authorities of their certificates, looked up by fingerprint. */
export class SshKeyCompiler implements Compiler<SshKeyOwner> {
  readonly kind: string;
  readonly #resource: typeof sshCredential;
  readonly owners = new Map<string, SshKeyOwner>();
  readonly #compilation: Compilation;
  readonly #byFingerprint = new Map<string, CompiledCredential>();

  /** @param resource both have the same fields */
  constructor(resource: typeof sshCredential, compilation: Compilation) {
    this.#resource = resource;
    this.kind = resource.name;
    this.#compilation = compilation;
  }

  find(fingerprint: string): CompiledCredential | undefined {
    return this.#byFingerprint.get(fingerprint);
  }

  own(object: ResourceObject): SshKeyOwner {
    return { object, problem: undefined, dependencies: nothing, kept: nothing, credential: undefined };
  }

  compile(owner: SshKeyOwner): void {
    const { object } = owner;
    const { owner_id: ownerId, fingerprint, acl } = docOf(object, this.#resource);
    owner.credential = Object.freeze({
      id: object.id,
      accountId: object.account_id,
      tokenHash: hash("sha256", fingerprint, "buffer"),
      acl,
      active: this.#compilation.units.compile(
        owner,
        object,
        (scope) => !ownerId || isActiveOwner(scope.get(botUser.name, ownerId)),
      ),
      expiresAtMs: undefined,
    });
    this.#byFingerprint.set(fingerprint, owner.credential);
  }

  withdraw(owner: SshKeyOwner): void {
    if (owner.credential) this.#byFingerprint.delete(docOf(owner.object, this.#resource).fingerprint);
    owner.credential = undefined;
  }
}
