/** The sources of a subscription as separate resources. */
import { Refusal } from "../../lib/errors.ts";
import { eventSourceFields, eventSubscription } from "../../resources/event-subscription.ts";
import { objectSchema, schemaRef } from "../../schema/json-schema.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import { writeContext } from "../objects/write-context.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { changeIn } from "../objects/change.ts";
import { pathNames } from "../objects/lookup.ts";
import { viewsFor } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleId } from "../operation/example-ids.ts";
import { requireObject } from "../objects/lookup.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { writeOnce } from "../objects/write-once.ts";
import { docOf } from "../../schema/doc.ts";

interface SubscriptionSource {
  readonly type: string;
}

const listName = "EventSourceList";

export function eventSourceOperations(context: ObjectContext): Operation[] {
  const collection = "/event_subscriptions/{subscription_id}/sources";
  const one = `${collection}/{type}`;
  const uri = `${exampleBaseUrl}${collection.replace(/\{\w+\}/, exampleId("event_subscription"))}`;
  const type = "ip_policy_created.v0";
  const example = { type, uri: `${uri}/${type}` };
  const shared = {
    takes: "nothing",
    status: 200,
    replySchema: "EventSource",
    tagged: true,
    exampleReply: example,
  } as const;
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
      stores: true,
      refusals: ["not_found", "name_taken", "account_full"],
      run: (call) => addSource(call, context),
    },
    {
      ...shared,
      id: "listEventSources",
      method: "GET",
      path: collection,
      summary: "List the types of events of a subscription.",
      replySchema: listName,
      tagged: false,
      exampleReply: { sources: [example], uri, next_page_uri: null },
      schemas: { [listName]: listSchema },
      refusals: ["not_found"],
      run(call) {
        const subscription = subscriptionOf(call, context);
        const sources = sourcesOf(subscription).map((source) => renderSource(source, subscription, call));
        const uri = `${call.baseUrl}/event_subscriptions/${subscription.id}/sources`;
        return {
          status: 200,
          body: JSON.stringify({ sources, uri, next_page_uri: null }),
          revision: context.store.revision,
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
      run: (call) => replyWithSource(call, context),
    },
    {
      ...shared,
      id: "updateEventSource",
      method: "PATCH",
      path: one,
      summary: "Return the source unchanged. Sources have no fields to change.",
      takes: "anything",
      refusals: ["not_found"],
      run: (call) => replyWithSource(call, context),
    },
    {
      id: "deleteEventSource",
      method: "DELETE",
      path: one,
      summary: "Remove a type of event from a subscription.",
      takes: "nothing",
      status: 204,
      refusals: ["not_found", "write_unavailable", "precondition_failed"],
      async run(call) {
        const type = typeOf(call);
        sourceOf(subscriptionOf(call, context), type);
        const { revision } = await context.store.write(writeContext(call), (draft) =>
          editSources(call, context, draft, (present) => {
            const removed = sourceOf(present, type);
            return sourcesOf(present).filter((source) => source !== removed);
          }),
        );
        return { status: 204, revision };
      },
    },
  ];
}

const listSchema = {
  ...objectSchema({}, "response", "All sources of a subscription."),
  properties: {
    sources: { type: "array", items: { $ref: schemaRef("EventSource") } },
    uri: { type: "string", description: "URI of the list." },
    next_page_uri: { type: ["string", "null"], description: "Always null: the list has one page." },
  },
  required: ["sources", "uri", "next_page_uri"],
};

async function addSource(call: Call, context: ObjectContext): Promise<Reply> {
  subscriptionOf(call, context);
  const { doc, issues } = parseFields(eventSourceFields, call.body, "create", undefined, pathNames);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const type = String(doc["type"]);
  const work = (draft: Draft): StoredObject =>
    editSources(call, context, draft, (present) => {
      if (sourcesOf(present).some((source) => source.type === type)) {
        throw new Refusal("name_taken", `the subscription already has the source "${type}"`);
      }
      return [...sourcesOf(present), { type }];
    });
  return writeOnce(call, context.store, work, (subscription, revision) => ({
    status: 201,
    body: JSON.stringify(renderSource({ type }, subscription, call)),
    etag: viewsFor(call, context).etag(subscription),
    revision,
  }));
}

/** Changes the list at the time of the write, so that concurrent changes are preserved. */
function editSources(
  call: Call,
  context: ObjectContext,
  draft: Draft,
  change: (present: StoredObject) => readonly SubscriptionSource[],
): StoredObject {
  return changeIn(draft, resourceNamed("event_subscription"), ofSubscription(call), context, (present) => ({
    sources: change(present).map(({ type }) => ({ type })),
  }));
}

/** Returns the call with only the subscription's parameters. */
function ofSubscription(call: Call): Call {
  return { ...call, parameters: call.parameters.slice(0, 1) };
}

function subscriptionOf(call: Call, { store }: ObjectContext): StoredObject {
  return requireObject(resourceNamed("event_subscription"), ofSubscription(call), store);
}

function sourcesOf(subscription: StoredObject): readonly SubscriptionSource[] {
  return docOf(subscription, eventSubscription).sources;
}

function typeOf({ parameters }: Call): string {
  return parameters[1] as string;
}

/** A source has the subscription's ETag, which changes with every source. */
function replyWithSource(call: Call, context: ObjectContext): Reply {
  const subscription = subscriptionOf(call, context);
  const source = sourceOf(subscription, typeOf(call));
  return {
    status: 200,
    body: JSON.stringify(renderSource(source, subscription, call)),
    etag: viewsFor(call, context).etag(subscription),
    revision: context.store.revision,
  };
}

function sourceOf(subscription: StoredObject, type: string): SubscriptionSource {
  const source = sourcesOf(subscription).find((one) => one.type === type);
  if (!source) throw new Refusal("not_found", `the subscription has no source "${type.slice(0, 64)}"`);
  return source;
}

function renderSource({ type }: SubscriptionSource, { id }: StoredObject, { baseUrl }: Call): unknown {
  return { type, uri: `${baseUrl}/event_subscriptions/${id}/sources/${type}` };
}
