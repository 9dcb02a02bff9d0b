/** The current secrets of vaults, by the names that traffic policies use. */
import { secret as secrets } from "../../resources/secret.ts";
import { vault as vaults } from "../../resources/vault.ts";
import { docOf } from "../../schema/doc.ts";
import type { ResourceObject } from "../../schema/object.ts";

export class Secrets {
  /** Ids of vaults by account and name. */
  readonly #vaults = new Map<string, string>();
  /** Values by vault and name. */
  readonly #values = new Map<string, { readonly id: string; readonly value: string }>();

  /** Applies a change of an object. Other kinds are ignored. */
  take(before: ResourceObject | undefined, after: ResourceObject | null): void {
    const kind = (after ?? before)?.kind;
    if (kind === vaults.name) {
      // Another vault may already have its name.
      if (before && this.#vaults.get(vaultKey(before)) === before.id) this.#vaults.delete(vaultKey(before));
      if (after) this.#vaults.set(vaultKey(after), after.id);
    } else if (kind === secrets.name) {
      if (before && this.#values.get(secretKey(before))?.id === before.id) this.#values.delete(secretKey(before));
      if (after) this.#values.set(secretKey(after), { id: after.id, value: docOf(after, secrets).value });
    }
  }

  find(accountId: string, vault: string, name: string): string | undefined {
    const id = this.#vaults.get(`${accountId} ${vault}`);
    return id === undefined ? undefined : this.#values.get(`${id} ${name}`)?.value;
  }
}

function vaultKey(object: ResourceObject): string {
  return `${object.account_id} ${docOf(object, vaults).name}`;
}

function secretKey(object: ResourceObject): string {
  const { vault_id, name } = docOf(object, secrets);
  return `${vault_id} ${name}`;
}
