import { f, notes } from "../schema/fields.ts";
import { headerValue } from "../schema/formats.ts";
import { headerName } from "../schema/header-name.ts";
import type { BackendKind } from "../schema/backend-kinds.ts";
import { defineResource } from "../schema/resource.ts";

export const httpResponseBackend = defineResource({
  name: "http_response_backend" satisfies BackendKind,
  schemaName: "HTTPResponseBackend",
  path: "/backends/http_response",
  listKey: "backends",
  idPrefix: "bkdhr",
  doc: "A backend that answers every request with the same response.",
  fields: {
    ...notes,
    body: f.string("The response's body.", { maxBytes: 65_536, sensitive: true }),
    headers: f.map(
      "The response's header fields.",
      f.string("A value.", { maxBytes: 4096, format: headerValue, sensitive: true }),
      {
        key: f.string("A name.", { minBytes: 1, maxBytes: 255, format: headerName }),
        maxItems: 20,
      },
    ),
    status_code: f.uint32("The response's status.", { min: 200, max: 599, default: 200, zeroIsUnset: true }),
  },
  traffic: true,
});
