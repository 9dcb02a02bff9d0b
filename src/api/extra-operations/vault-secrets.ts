/** Operations on the secrets of a vault. */
import type { Operation } from "../operation/call.ts";
import { viewsFor } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { exampleBaseUrl, exampleList } from "../objects/example-replies.ts";
import { exampleId } from "../operation/example-ids.ts";
import { requireObject } from "../objects/lookup.ts";
import { pageBody, pageQuery, readPageQuery } from "../objects/page-query.ts";
import type { ReadPage } from "../objects/read-page.ts";
import { walkPage } from "../objects/walk.ts";
import { isVisible } from "../operation/scope.ts";

export function vaultSecretOperations(context: ObjectContext): Operation[] {
  const { store } = context;
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
      replySchema: `${secrets.schemaName}List`,
      refusals: ["work_limit"],
      exampleReply: {
        ...exampleList(secrets, "", secrets.listKey),
        uri: `${exampleBaseUrl}${vaults.path}/${exampleId(vaults.name)}/${secrets.listKey}`,
      },
      run(call) {
        const vault = requireObject(vaults, call, store);
        const { limit, beforeId } = readPageQuery(call);
        const views = viewsFor(call, context);
        const { revision } = store;
        const { id: keyId, scope } = call.principal;
        const read: ReadPage = ({ limit: count, beforeId: below }) =>
          store.page(vault.account_id, secrets.name, {
            limit: count,
            parentId: vault.id,
            ...(below !== undefined && { beforeId: below }),
          });
        return walkPage(
          keyId,
          { limit, beforeId },
          read,
          (object) => isVisible(scope, object),
          ({ objects, next }) => {
            const items = objects.map((object) => views.json(object, call.baseUrl));
            const path = `${vaults.path}/${vault.id}/${secrets.listKey}`;
            const body = pageBody(call, path, secrets.listKey, items, { limit, nextBeforeId: next });
            return { status: 200, body, revision };
          },
        );
      },
    },
  ];
}
