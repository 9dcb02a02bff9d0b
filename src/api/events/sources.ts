/** The sources of a subscription, each on a path of its own. */
import { Refusal } from "../../lib/errors.ts";
import { eventSourceFields } from "../../resources/event-subscription.ts";
import { objectSchema, schemaRef } from "../../schema/json-schema.ts";
import { parseFields } from "../../schema/parse.ts";
import type { StoredObject, Written } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../call.ts";
import { pathNames, writeChange } from "../crud.ts";
import type { Crud } from "../crud.ts";
import { resourceNamed } from "../declarations.ts";
import { theOne } from "../lookup.ts";
import { inputRefusal } from "../problems.ts";

interface Source {
  readonly type: string;
}

const listName = "EventSourceList";

export function eventSourceOperations(crud: Crud): Operation[] {
  const collection = "/event_subscriptions/{subscription_id}/sources";
  const one = `${collection}/{type}`;
  const shared = { takes: "nothing", status: 200, answers: "EventSource" } as const;
  return [
    {
      ...shared,
      id: "createEventSource",
      method: "POST",
      path: collection,
      summary: "Add a type of event to a subscription.",
      takes: "object",
      input: eventSourceFields,
      status: 201,
      refusals: ["not_found", "name_taken", "write_unavailable", "account_full"],
      run: (call) => add(call, crud),
    },
    {
      ...shared,
      id: "listEventSources",
      method: "GET",
      path: collection,
      summary: "List the types of events of a subscription.",
      answers: listName,
      schemas: { [listName]: listSchema },
      refusals: ["not_found"],
      run(call) {
        const subscription = subscriptionOf(call, crud);
        const sources = sourcesOf(subscription).map((source) => shown(source, subscription, call));
        const uri = `${call.baseUrl}/event_subscriptions/${subscription.id}/sources`;
        return {
          status: 200,
          body: JSON.stringify({ sources, uri, next_page_uri: null }),
          revision: crud.store.revision,
        };
      },
    },
    {
      ...shared,
      id: "getEventSource",
      method: "GET",
      path: one,
      summary: "Get a type of event of a subscription.",
      refusals: ["not_found"],
      run: (call) => reply(call, subscriptionOf(call, crud), crud.store.revision),
    },
    {
      ...shared,
      id: "updateEventSource",
      method: "PATCH",
      path: one,
      summary: "Nothing of a source can be changed: answers it as it is.",
      takes: "anything",
      refusals: ["not_found"],
      run: (call) => reply(call, subscriptionOf(call, crud), crud.store.revision),
    },
    {
      id: "deleteEventSource",
      method: "DELETE",
      path: one,
      summary: "Remove a type of event from a subscription.",
      takes: "nothing",
      status: 204,
      refusals: ["not_found", "write_unavailable"],
      async run(call) {
        const type = typeOf(call);
        const { revision } = await edit(call, crud, (sources) => {
          if (!sources.some((source) => source.type === type)) throw notThere(type);
          return sources.filter((source) => source.type !== type);
        });
        return { status: 204, revision };
      },
    },
  ];
}

const listSchema = {
  ...objectSchema({}, "response", "Every source of a subscription."),
  properties: {
    sources: { type: "array", items: { $ref: schemaRef("EventSource") } },
    uri: { type: "string", description: "URI of the list." },
    next_page_uri: { type: ["string", "null"], description: "Always null: the list has one page." },
  },
  required: ["sources", "uri", "next_page_uri"],
};

async function add(call: Call, crud: Crud): Promise<Reply> {
  subscriptionOf(call, crud);
  const { doc, issues } = parseFields(eventSourceFields, call.body, "create", undefined, pathNames);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const type = String(doc["type"]);
  const { revision, result } = await edit(call, crud, (sources) => {
    if (sources.some((source) => source.type === type)) {
      throw new Refusal("name_taken", `the subscription has the source "${type}" already`);
    }
    return [...sources, { type }];
  });
  return { status: 201, body: JSON.stringify(shown({ type }, result, call)), revision };
}

/** Changes the list as it is when it is written, whatever others have changed in between. */
async function edit(
  call: Call,
  crud: Crud,
  change: (sources: readonly Source[]) => readonly Source[],
): Promise<Written<StoredObject>> {
  const named = { ...call, parameters: call.parameters.slice(0, 1) };
  const changed = new Error("changed meanwhile");
  for (;;) {
    const present = subscriptionOf(call, crud);
    const body = { sources: change(sourcesOf(present)) };
    try {
      return await writeChange(resourceNamed("event_subscription"), named, crud, body as never, (previous) => {
        if (previous.revision !== present.revision) throw changed;
      });
    } catch (error) {
      if (error !== changed) throw error;
    }
  }
}

function subscriptionOf(call: Call, { store }: Crud): StoredObject {
  return theOne(resourceNamed("event_subscription"), { ...call, parameters: call.parameters.slice(0, 1) }, store);
}

function sourcesOf({ doc }: StoredObject): readonly Source[] {
  return doc["sources"] as readonly Source[];
}

function typeOf({ parameters }: Call): string {
  return parameters[1] as string;
}

function reply(call: Call, subscription: StoredObject, revision: number): Reply {
  const source = sourcesOf(subscription).find(({ type }) => type === typeOf(call));
  if (!source) throw notThere(typeOf(call));
  return { status: 200, body: JSON.stringify(shown(source, subscription, call)), revision };
}

function shown({ type }: Source, { id }: StoredObject, { baseUrl }: Call): unknown {
  return { type, uri: `${baseUrl}/event_subscriptions/${id}/sources/${type}` };
}

function notThere(type: string): Refusal {
  return new Refusal("not_found", `the subscription has no source "${type.slice(0, 64)}"`);
}
