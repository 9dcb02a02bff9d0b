/** Kinds of backends that a backend made of others may have. */
export const backendKinds: readonly string[] = [
  "tunnel_group_backend",
  "failover_backend",
  "weighted_backend",
  "http_response_backend",
  "static_backend",
];
