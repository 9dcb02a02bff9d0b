/** Phases in which rules act, by their names in policies. */
export const phases = ["on_tcp_connect", "on_http_request", "on_http_response", "on_event_stream_message"] as const;

export type Phase = (typeof phases)[number];
