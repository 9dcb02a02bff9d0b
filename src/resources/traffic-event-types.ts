/** Types of events that finished traffic has: of a request, and of a connection. */
export const trafficEventTypes = ["http_request_complete.v0", "tcp_connection_closed.v0"] as const;

export type TrafficEventType = (typeof trafficEventTypes)[number];
