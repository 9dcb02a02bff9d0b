/** Types of events about traffic: finished requests and connections, logins of visitors, and webhooks in inboxes. */
export const trafficEventTypes = [
  "http_request_complete.v0",
  "tcp_connection_closed.v0",
  "login_completed.v0",
  "login_refused.v0",
  "login_ended.v0",
  "inbox_message_dead.v0",
  "inbox_backlog.v0",
] as const;

export type TrafficEventType = (typeof trafficEventTypes)[number];
