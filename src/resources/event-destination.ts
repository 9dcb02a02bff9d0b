import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { eventTarget } from "./event-target.ts";

export const eventDestination = defineResource({
  name: "event_destination",
  schemaName: "EventDestination",
  path: "/event_destinations",
  listKey: "event_destinations",
  idPrefix: "ed",
  doc: "A receiver of events. Write events arrive in order and at least once, with retries for a day. For traffic events, at most the last 5,000 wait for the target.",
  fields: {
    ...notes,
    format: f.oneOf("Format of the events.", ["json"], { default: "json" }),
    target: eventTarget,
    delivery: f.object(
      "State of the delivery since the server started.",
      {
        state: f.oneOf(
          "`unsupported`: this server cannot deliver to the target, and `error` has the reason.",
          ["idle", "delivering", "retrying", "unsupported"],
          { default: "idle" },
        ),
        error: f.string("The last error; empty after a successful delivery.", { maxBytes: 1024 }),
        last_delivered_at: f.timestamp("Time of the last successful delivery."),
        delivered: f.uint32("Events delivered."),
        dropped: f.uint32("Events that were discarded: after a day, or because too many were waiting."),
      },
      { live: true },
    ),
  },
  refusals: ["operator_only"],
});
