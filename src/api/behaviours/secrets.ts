/** Secrets of vaults. The vault may be given by name. */
import { Refusal } from "../../lib/errors.ts";
import { secret } from "../../resources/secret.ts";
import { vault } from "../../resources/vault.ts";
import { behaviourOf } from "../objects/behaviour.ts";

export const secretBehaviour = behaviourOf(secret, {
  prepare({ draft, accountId, doc, previous }) {
    const name = doc.vault_name;
    if (previous || name === "") return { doc };
    const holder = draft.holder(accountId, vault.name, name);
    if (!holder) {
      const message = `there is no vault "${name}"`;
      throw new Refusal("reference_unknown", `"vault_name": ${message}`, { vault_name: message });
    }
    return { doc: { ...doc, vault_id: holder.id, vault_name: "" } };
  },
});
