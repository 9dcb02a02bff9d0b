import { f, notes } from "../schema/fields.ts";
import { address } from "../schema/formats.ts";
import type { BackendKind } from "../schema/backend-kinds.ts";
import { defineResource } from "../schema/resource.ts";

export const staticBackend = defineResource({
  name: "static_backend" satisfies BackendKind,
  schemaName: "StaticBackend",
  path: "/backends/static",
  listKey: "backends",
  idPrefix: "bkdsc",
  doc: "A backend at an address that the edge connects to directly.",
  fields: {
    ...notes,
    address: f.string(
      "Host and port. The server rejects loopback, link-local and other forbidden addresses, and does not connect to names that resolve to them.",
      { required: true, maxBytes: 260, format: address, keepIfEmpty: true },
    ),
    tls: f.object("Protocol for the connection.", {
      enabled: f.boolean("Whether to use TLS and verify the certificate."),
    }),
  },
  traffic: true,
  refusals: ["address_forbidden"],
});
