/** Renders a login as an event for receivers: created, denied or ended. */
import { newId } from "../../../lib/ids.ts";
import type { LoginEvent } from "../../../identity/sessions/events.ts";
import { idOfEvent } from "./event.ts";
import type { Event } from "./event.ts";

export function loginEvent(told: LoginEvent): Event {
  const { type, accountId, at, provider, user } = told;
  const id = idOf(told);
  const time = new Date(at).toISOString();
  const body = JSON.stringify({
    event_id: id,
    event_type: type,
    event_timestamp: time,
    account_id: accountId,
    principal: null,
    object: {
      request_id: told.requestId,
      site_id: told.siteId,
      route_id: told.routeId,
      host: told.host,
      identity_provider: provider,
      client_id: told.clientId,
      application_user: user && {
        id: user.id,
        provider_user_id: user.providerUserId,
        username: user.username,
        email: user.email,
        name: user.name,
      },
      application_session_id: told.sessionId,
      source_ip: told.source,
      user_agent: told.userAgent,
      ...(type === "login_refused.v0" && { error_code: told.errorCode }),
      ...(type === "login_ended.v0" && { ended_by: told.end }),
      reason: told.reason,
    },
  });
  return { id, type, time, body, short: () => body };
}

/** A session begins and ends once, but several edges may report it. */
function idOf({ type, accountId, at, sessionId }: LoginEvent): string {
  if (sessionId === null || type === "login_refused.v0") return newId("ev", at);
  return idOfEvent(`${accountId} ${type} ${sessionId}`);
}
