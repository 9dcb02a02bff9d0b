/** Capture of requests. Read by the edge. */
import { toggle } from "./setting.ts";

export const captureSettings = {
  captureRequests: toggle(
    "Capture requests to the server's disk, unless an account, edge, route or endpoint sets `capture`. Secret values are replaced by keyed hashes.",
  ),
} as const;
