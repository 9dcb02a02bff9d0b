import { f, notes } from "../schema/fields.ts";
import { trafficEventTypes } from "./traffic-event-types.ts";
import { defineResource } from "../schema/resource.ts";

/** One kind of event in a subscription. */
export const eventSourceFields = {
  type: f.string(
    `\`<resource>_created.v0\`, \`<resource>_updated.v0\`, \`<resource>_deleted.v0\`, ${trafficEventTypes.map((type) => `\`${type}\``).join(" or ")}.`,
    {
      required: true,
      format: {
        name: "event-type",
        example: "ip_policy_created.v0",
        check: (text) => (/^[a-z][a-z0-9_]*\.v[0-9]+$/.test(text) ? undefined : "be the type of an event"),
      },
    },
  ),
  uri: f.string("URI of the source.", { live: true, maxBytes: 2048 }),
} as const;

export const eventSubscription = defineResource({
  name: "event_subscription",
  schemaName: "EventSubscription",
  path: "/event_subscriptions",
  listKey: "event_subscriptions",
  idPrefix: "esb",
  doc: "Sends events of the selected types to destinations. Write events from before the subscription's creation are not sent.",
  fields: {
    ...notes,
    sources: f.list(
      "Types of events.",
      f.object("A type of event.", eventSourceFields, { schemaName: "EventSource" }),
      { maxItems: 200, example: [{ type: "ip_policy_created.v0" } as never] },
    ),
    destinations: f.refList(
      "Destinations of the events.",
      { to: "event_destination", input: "destination_ids" },
      { required: true, minItems: 1, maxItems: 20 },
    ),
  },
  rules: [
    ({ sources }) => {
      const types = sources.map(({ type }) => type);
      const twice = types.find((type, index) => types.indexOf(type) !== index);
      return twice === undefined ? undefined : { path: "sources", message: `must not repeat "${twice}"` };
    },
  ],
});
