/** Kinds of backends, most common first. An id may belong to any of them. */
export const backendKinds = [
  "tunnel_group_backend",
  "weighted_backend",
  "failover_backend",
  "http_response_backend",
  "static_backend",
] as const;

export type BackendKind = (typeof backendKinds)[number];
