/** Types of events that edges report: finished requests and connections, and logins of visitors. */
export const trafficEventTypes = [
  "http_request_complete.v0",
  "tcp_connection_closed.v0",
  "login_completed.v0",
  "login_refused.v0",
  "login_ended.v0",
] as const;

export type TrafficEventType = (typeof trafficEventTypes)[number];
