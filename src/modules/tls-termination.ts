import { f } from "../schema/fields.ts";
import { defineModule } from "../traffic/module.ts";
import type { Handshake } from "../traffic/handshake.ts";

export const tlsTermination = defineModule({
  name: "tls_termination",
  schemaName: "EndpointTLSTermination",
  on: ["https_edge", "tls_edge"],
  doc: "Sets where TLS ends, and the allowed TLS versions.",
  acts: { handshake: ["refuse"] },
  fields: {
    terminate_at: f.oneOf(
      "`edge`: the edge terminates TLS. `upstream` (or the older name `agent`): the edge passes TLS through; only on TLS edges.",
      ["edge", "upstream", "agent"],
      { default: "edge" },
    ),
    min_version: f.nullableOneOf("Minimum TLS version; 1.2 if unset. Must be null if TLS is passed through.", [
      "1.2",
      "1.3",
    ]),
  },
  rules: [
    ({ terminate_at }, place) =>
      place === "https_edge" && terminate_at !== "edge"
        ? {
            path: "terminate_at",
            message: `must be "edge" on an HTTPS edge, whose routes need the decrypted traffic (a TLS edge passes through), is "${terminate_at}"`,
          }
        : undefined,
    ({ terminate_at, min_version }) =>
      terminate_at !== "edge" && min_version !== null
        ? { path: "min_version", message: `must be null when terminate_at is "${terminate_at}", is "${min_version}"` }
        : undefined,
  ],
  compile({ terminate_at, min_version }) {
    if (terminate_at !== "edge") return { handshake: passthrough };
    return min_version === null ? {} : { handshake: { minVersion: min_version === "1.3" ? "TLSv1.3" : "TLSv1.2" } };
  },
});

const passthrough: Handshake = Object.freeze({ passthrough: true });
