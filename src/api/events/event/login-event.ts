/** Renders a login as an event for receivers: created, denied or ended. */
import { newId } from "../../../lib/ids.ts";
import type { LoginEvent } from "../../../identity/sessions/login-events.ts";
import { idOfEvent } from "./event.ts";
import type { Event } from "./event.ts";

export function loginEvent(login: LoginEvent): Event {
  const { type, accountId, at, provider, user } = login;
  const id = idOf(login);
  const time = new Date(at).toISOString();
  const body = JSON.stringify({
    event_id: id,
    event_type: type,
    event_timestamp: time,
    account_id: accountId,
    principal: null,
    object: {
      request_id: login.requestId,
      site_id: login.siteId,
      route_id: login.routeId,
      host: login.host,
      identity_provider: provider,
      client_id: login.clientId,
      application_user: user && {
        id: user.id,
        provider_user_id: user.providerUserId,
        username: user.username,
        email: user.email,
        name: user.name,
      },
      application_session_id: login.sessionId,
      source_ip: login.source,
      user_agent: login.userAgent,
      ...(type === "login_refused.v0" && { error_code: login.errorCode }),
      ...(type === "login_ended.v0" && { ended_by: login.end }),
      reason: login.reason,
    },
  });
  return { id, type, time, body, short: () => body };
}

/** A session begins and ends once, but several edges may report it. */
function idOf({ type, accountId, at, sessionId }: LoginEvent): string {
  if (sessionId === null || type === "login_refused.v0") return newId("ev", at);
  return idOfEvent(`${accountId} ${type} ${sessionId}`);
}
