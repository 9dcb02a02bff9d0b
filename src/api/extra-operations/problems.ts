/** What edges could not put into effect, for whoever has configured it. */
import type { Store } from "../../storage/store.ts";
import type { EdgeProblems } from "../edges/problems.ts";
import type { ObjectContext } from "../objects/context.ts";
import type { Operation } from "../operation/call.ts";
import { exampleId } from "../operation/examples.ts";
import { list, object, text, textOrNull } from "../operation/shapes.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";

/** More would not be read by anybody. */
const most = 100;

const schema = object("Configuration that is not in effect.", {
  problems: list(
    `At most ${most}.`,
    object("One of them.", {
      kind: text("Kind of the object that it is about."),
      id: text("Its id."),
      uri: text("Its URI."),
      module: textOrNull("The module that could not be put into effect; null where it is the whole object."),
      message: text("Why."),
    }),
  ),
});

/** For keys that see all of their account. */
export function problemsOperation(
  { store, views }: { readonly store: Store; readonly views: ObjectContext["views"] },
  problems: Pick<EdgeProblems, "all">,
): Operation {
  return {
    id: "listProblems",
    method: "GET",
    path: "/problems",
    summary:
      "List the configuration that edges could not put into effect, of whichever server that shares the database, such as a route whose module does not compile: until it is changed, it is answered 500.",
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
          message: "its port cannot be listened on",
        },
      ],
    },
    async run(call) {
      const { accountId } = call.principal;
      const shown = [];
      for (const { kind, id, accountId: owner, module, message = "" } of await problems.all()) {
        const found = owner === accountId ? store.get(accountId, kind, id) : undefined;
        if (!found) continue;
        shown.push({ kind, id, uri: views.uri(found, call.baseUrl), module: module ?? null, message });
        if (shown.length === most) break;
      }
      return { status: 200, body: JSON.stringify({ problems: shown }), revision: store.revision };
    },
  };
}
