import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { eventTarget } from "./event-target.ts";

export const eventDestination = defineResource({
  name: "event_destination",
  schemaName: "EventDestination",
  path: "/event_destinations",
  listKey: "event_destinations",
  idPrefix: "ed",
  doc: "Where events are sent: in order, at least once, tried again for a day.",
  fields: {
    ...notes,
    format: f.oneOf("How events are written.", ["json"], { default: "json" }),
    target: eventTarget,
    delivery: f.object(
      "How delivery goes, since the server started.",
      {
        state: f.oneOf("`unsupported`: this server cannot deliver to the target.", [
          "idle",
          "delivering",
          "retrying",
          "unsupported",
        ]),
        error: f.string("What went wrong last; empty once an event was delivered.", { maxBytes: 1024 }),
        last_delivered_at: f.timestamp("When an event was last delivered."),
        delivered: f.uint32("Events delivered."),
        dropped: f.uint32("Events that were given up after a day."),
      },
      { live: true },
    ),
  },
  refusals: ["operator_only"],
});
