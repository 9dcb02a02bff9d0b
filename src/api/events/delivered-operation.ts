/** Operation that lists the events last sent to a destination. */
import { eventDestination } from "../../resources/event-destination.ts";
import type { Store } from "../../storage/store.ts";
import { requireObject } from "../objects/lookup.ts";
import type { Operation } from "../operation/call.ts";
import type { KeyScope } from "../operation/scope.ts";
import { kindsOf } from "./event/event-types.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { listSchema, object, textSchema } from "../operation/shapes.ts";
import type { Events } from "./dispatcher.ts";

const schema = object("Recently delivered events.", {
  events: listSchema(
    "Newest first, at most 100. With several servers: the newest 20 of each other server, with a delay of one second.",
    object("An event.", {
      id: textSchema("Its id."),
      type: textSchema("Its type."),
      time: { type: "string", format: "date-time", description: "Time of the event." },
      body: textSchema("The event as sent, in JSON."),
    }),
  ),
});

export function deliveredEventsOperation(store: Store, events: () => Pick<Events, "delivered">): Operation {
  const resource = resourceNamed(eventDestination.name);
  return {
    id: "listDeliveredEvents",
    method: "GET",
    path: `${resource.path}/{id}/events`,
    summary:
      "List the events that were recently delivered to a destination. Keys with type scopes get only events of these types.",
    resource,
    verb: "command",
    takes: "nothing",
    status: 200,
    replySchema: "DeliveredEvents",
    schemas: { DeliveredEvents: schema },
    exampleReply: {
      events: [
        {
          id: "ev_0f6yvqk3c5a9m2x7p4r8t1w6z0b",
          type: "ip_policy_created.v0",
          time: "2026-01-01T00:00:00.000Z",
          body: "{}",
        },
      ],
    },
    async run(call) {
      const { id } = requireObject(resource, call, store);
      const shown = (await events().delivered(id))
        .filter(({ type }) => mayReadEvent(call.principal.scope, type))
        .map(({ id: event, type, time, body }) => ({ id: event, type, time, body }));
      return { status: 200, body: JSON.stringify({ events: shown }) };
    },
  };
}

/**
 * Whether the key may read events of the type. An event shows a whole object, and traffic events concern objects of all
 * kinds.
 */
function mayReadEvent(scope: KeyScope | undefined, type: string): boolean {
  const kinds = scope?.kinds;
  if (!kinds) return true;
  const about = kindsOf(new Set([type]));
  return about.length > 0 && about.every((kind) => kinds.has(kind));
}
