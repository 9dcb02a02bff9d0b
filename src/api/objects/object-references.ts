/** Operation that lists the objects that refer to an object. Users check them before they change or delete it. */
import { Refusal } from "../../lib/errors.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { resourceOfId } from "../operation/resource-declarations.ts";
import { isVisible } from "../operation/scope.ts";
import { exampleId } from "../operation/example-ids.ts";
import { flagSchema, listSchema, object, textSchema } from "../operation/shapes.ts";
import { exampleBaseUrl } from "./example-replies.ts";
import { findObject } from "./lookup.ts";
import type { ObjectContext } from "./object-context.ts";

/** Maximum number of objects in a response. */
const most = 100;

const schema = object("Objects that refer to another.", {
  references: listSchema(
    `At most ${most}.`,
    object("One object.", {
      kind: textSchema("Its kind."),
      id: textSchema("Its id."),
      uri: textSchema("Its URI."),
      description: textSchema("Description of the object."),
    }),
  ),
  more: flagSchema("Whether there are more."),
});

export function referencesOperation({ store, views }: Pick<ObjectContext, "store" | "views">): Operation {
  const route = exampleId("https_edge_route");
  return {
    id: "listReferences",
    method: "GET",
    path: "/references/{id}",
    summary: "List the objects that refer to an object, such as the routes of a backend.",
    takes: "nothing",
    status: 200,
    replySchema: "ReferenceList",
    schemas: { ReferenceList: schema },
    exampleReply: {
      references: [
        {
          kind: "https_edge_route",
          id: route,
          uri: `${exampleBaseUrl}/edges/https/${exampleId("https_edge")}/routes/${route}`,
          description: "the shop",
        },
      ],
      more: false,
    },
    run(call): Reply {
      const found = referrersOf(call, store);
      const shown = found.slice(0, most).map((one) => ({
        kind: one.kind,
        id: one.id,
        uri: views.uri(one, call.baseUrl),
        description: typeof one.doc["description"] === "string" ? one.doc["description"] : "",
      }));
      const body = JSON.stringify({ references: shown, more: found.length > most });
      return { status: 200, body, revision: store.revision };
    },
  };
}

function referrersOf(call: Call, store: Store): readonly StoredObject[] {
  const id = call.parameters[0] as string;
  const kind = resourceOfId(id);
  if (!kind || kind.live || kind.operatorOnly) {
    throw new Refusal("not_found", `${call.operation.id}: this account has no stored object "${id.slice(0, 64)}"`);
  }
  const { accountId, scope } = call.principal;
  findObject(store, accountId, kind.name, id);
  return store
    .referrers(id)
    .filter((one) => one.account_id === accountId && isVisible(scope, one) && !one.kind.startsWith("application_"));
}
