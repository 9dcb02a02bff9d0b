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
  doc: "A backend at an address that the edge reaches by itself.",
  fields: {
    ...notes,
    address: f.string(
      "Host and port. Loopback, link-local and other addresses that nothing is sent to are refused; a name that leads to one is not dialled.",
      { required: true, maxBytes: 260, format: address, keepIfEmpty: true },
    ),
    tls: f.object("How the address is spoken to.", {
      enabled: f.boolean("Whether by TLS, with the certificate verified."),
    }),
  },
  traffic: true,
  refusals: ["address_forbidden"],
});
