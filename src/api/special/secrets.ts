/** Secrets of vaults: the vault may be given by name, and has a list of its own. */
import { Refusal } from "../../lib/errors.ts";
import type { Operation } from "../operation/call.ts";
import { viewsFor } from "../objects/crud.ts";
import type { Crud } from "../objects/crud.ts";
import { resourceNamed } from "../operation/declarations.ts";
import { exampleBaseUrl, exampleList } from "../objects/example-answers.ts";
import { exampleId } from "../operation/examples.ts";
import { theOne } from "../objects/lookup.ts";
import { pageBody, pageQuery, readPageQuery } from "../objects/pages.ts";
import { onlyVisible } from "../scopes/enforce.ts";
import type { Special } from "./special.ts";

export const secretSpecial: Special = {
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

export function vaultOperations(crud: Crud): Operation[] {
  const { store } = crud;
  const vaults = resourceNamed("vault");
  const secrets = resourceNamed("secret");
  return [
    {
      id: "listVaultSecrets",
      method: "GET",
      path: `${vaults.path}/{id}/${secrets.listKey}`,
      summary: "List the secrets of a vault, newest first.",
      resource: vaults,
      takes: "nothing",
      query: pageQuery,
      status: 200,
      answers: `${secrets.schemaName}List`,
      exampleAnswer: {
        ...exampleList(secrets, "", secrets.listKey),
        uri: `${exampleBaseUrl}${vaults.path}/${exampleId(vaults.name)}/${secrets.listKey}`,
      },
      run(call) {
        const vault = theOne(vaults, call, store);
        const { limit, beforeId } = readPageQuery(call);
        const views = viewsFor(call, crud);
        const { objects, more } = onlyVisible(call.principal, ({ limit: count, beforeId: below }) =>
          store.page(vault.account_id, secrets.name, {
            limit: count,
            parentId: vault.id,
            ...(below !== undefined && { beforeId: below }),
          }),
        )({ limit, beforeId });
        const items = objects.map((object) => views.json(object, call.baseUrl));
        const path = `${vaults.path}/${vault.id}/${secrets.listKey}`;
        const nextBeforeId = more ? objects.at(-1)?.id : undefined;
        const body = pageBody(call, path, secrets.listKey, items, { limit, nextBeforeId });
        return { status: 200, body, revision: store.revision };
      },
    },
  ];
}
