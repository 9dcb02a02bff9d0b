/** Secrets of vaults: the vault may be given by name. */
import { Refusal } from "../../lib/errors.ts";
import type { Behaviour } from "../objects/behaviour.ts";

export const secretBehaviour: Behaviour = {
  prepare({ draft, accountId, doc, previous }) {
    const name = doc["vault_name"] as string;
    if (previous || name === "") return { doc };
    const vault = draft.holder(accountId, "vault", name);
    if (!vault) {
      const message = `there is no vault "${name}"`;
      throw new Refusal("reference_unknown", `"vault_name": ${message}`, { vault_name: message });
    }
    return { doc: { ...doc, vault_id: vault.id, vault_name: "" } };
  },
};
