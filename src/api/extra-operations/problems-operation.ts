/** Operation that lists what edges could not apply, for the account that configured it. */
import type { Store } from "../../storage/store.ts";
import { problemWithoutSecrets } from "../edges/problem-text.ts";
import type { EdgeProblems } from "../edges/problems.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import type { Operation } from "../operation/call.ts";
import { exampleId } from "../operation/example-ids.ts";
import { seesSecrets } from "../operation/scope.ts";
import { listSchema, object, textSchema, textOrNull } from "../operation/shapes.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";

/** Maximum number of problems in a response. */
const most = 100;

const schema = object("Configuration that could not be applied.", {
  problems: listSchema(
    `At most ${most}.`,
    object("One problem.", {
      kind: textSchema("Kind of the affected object."),
      id: textSchema("Its id."),
      uri: textSchema("Its URI."),
      module: textOrNull("The affected module; null if the whole object is affected."),
      message: textSchema("Why."),
    }),
  ),
});

/** For keys that see everything in their account. */
export function problemsOperation(
  { store, views }: { readonly store: Store; readonly views: ObjectContext["views"] },
  problems: Pick<EdgeProblems, "all">,
): Operation {
  return {
    id: "listProblems",
    method: "GET",
    path: "/problems",
    summary:
      "List configuration that an edge of any server could not apply, such as a route with an invalid module. Requests to it get 500 until you change it. Includes domains for which the server could not get a certificate.",
    takes: "nothing",
    status: 200,
    replySchema: "ProblemList",
    schemas: { ProblemList: schema },
    exampleReply: {
      problems: [
        {
          kind: "https_edge",
          id: exampleId("https_edge"),
          uri: `${exampleBaseUrl}/edges/https/${exampleId("https_edge")}`,
          module: null,
          message: "the server cannot listen on its port",
        },
      ],
    },
    async run(call) {
      const { accountId, scope } = call.principal;
      const sees = seesSecrets(scope);
      const shown = [];
      for (const { kind, id, accountId: owner, module, message = "" } of await problems.all()) {
        const found = owner === accountId ? store.get(accountId, kind, id) : undefined;
        if (!found) continue;
        shown.push({
          kind,
          id,
          uri: views.uri(found, call.baseUrl),
          module: module ?? null,
          message: sees ? message : problemWithoutSecrets(kind, module, message),
        });
        if (shown.length === most) break;
      }
      return { status: 200, body: JSON.stringify({ problems: shown }), revision: store.revision };
    },
  };
}
