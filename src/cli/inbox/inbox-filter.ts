/** Options of the commands that select messages of inboxes. */
import type { InboxMessagesListOptions } from "../../../sdk/src/index.ts";
import { namedText, oneOf, text } from "../../settings/kinds/text.ts";
import { flagOnly, optional } from "../../settings/setting.ts";
import type { ValuesOf } from "../../settings/setting.ts";

export const filterSettings = {
  route: flagOnly(optional("Only messages of this route.", namedText("ID"))),
  state: flagOnly(
    optional(
      "Only messages in this state.",
      oneOf(["waiting", "blocked", "sending", "dead", "delivered", "refused", "discarded"]),
    ),
  ),
  provider: flagOnly(optional("Only messages of this webhook provider.", text)),
  eventType: flagOnly(optional("Only messages with this event type.", text)),
  since: flagOnly(optional("Only messages received at this time or later, such as 2026-01-01T00:00:00Z.", text)),
  text: flagOnly(optional("Only messages with this text in the path, the event type, the source or the id.", text)),
} as const;

type InboxFilter = Pick<InboxMessagesListOptions, "route_id" | "state" | "provider" | "event_type" | "since" | "text">;

/** Returns the filter in the form of the API client. */
export function filterOf({
  route,
  state,
  provider,
  eventType,
  since,
  text: part,
}: ValuesOf<typeof filterSettings>): InboxFilter {
  return {
    ...(route !== undefined && { route_id: route }),
    ...(state !== undefined && { state }),
    ...(provider !== undefined && { provider }),
    ...(eventType !== undefined && { event_type: eventType }),
    ...(since !== undefined && { since }),
    ...(part !== undefined && { text: part }),
  };
}
