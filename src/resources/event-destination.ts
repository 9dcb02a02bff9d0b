import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { eventTarget } from "./event-target.ts";

export const eventDestination = defineResource({
  name: "event_destination",
  schemaName: "EventDestination",
  path: "/event_destinations",
  listKey: "event_destinations",
  idPrefix: "ed",
  doc: "Where events are sent. Those of writes: in order, at least once, tried again for a day. Those of traffic: the last 5,000 wait while the target does not take them.",
  fields: {
    ...notes,
    format: f.oneOf("How events are written.", ["json"], { default: "json" }),
    target: eventTarget,
    delivery: f.object(
      "How delivery goes, since the server started.",
      {
        state: f.oneOf(
          "`unsupported`: this server cannot deliver to the target, and says why.",
          ["idle", "delivering", "retrying", "unsupported"],
          { default: "idle" },
        ),
        error: f.string("What went wrong last; empty once an event was delivered.", { maxBytes: 1024 }),
        last_delivered_at: f.timestamp("When an event was last delivered."),
        delivered: f.uint32("Events delivered."),
        dropped: f.uint32("Events that were given up: after a day, or because too many waited."),
      },
      { live: true },
    ),
  },
  refusals: ["operator_only"],
});
