/** Kinds of backends, the commonest first: an id may be of any. */
export const backendKinds = [
  "tunnel_group_backend",
  "weighted_backend",
  "failover_backend",
  "http_response_backend",
  "static_backend",
] as const;

export type BackendKind = (typeof backendKinds)[number];
