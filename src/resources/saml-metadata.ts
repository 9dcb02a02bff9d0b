import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const samlMetadata = defineResource({
  name: "saml_metadata",
  schemaName: "SAMLMetadata",
  path: "/saml_metadata",
  listKey: "saml_metadata",
  idPrefix: "samlmd",
  doc: "What was last found at the address of a route's identity provider, and was good.",
  fields: {
    route_id: f.ref(
      "The route.",
      { to: "https_edge_route", input: "route_id" },
      { bare: true, required: true, immutable: true },
    ),
    url: f.string("The address.", { maxBytes: 2048 }),
    entity_id: f.string("Whose it is: another provider's is not taken from there.", { maxBytes: 4096 }),
    metadata: f.string("What was read of it, as JSON; empty while nothing good was found.", { maxBytes: 131_072 }),
    problem: f.string("Why nothing was found the last time, if it was not; what was good before stays in use.", {
      maxBytes: 4096,
    }),
    etag: f.string("Its entity tag.", { maxBytes: 1024 }),
    fetched_at: f.timestamp("When it was last seen there."),
    good_until: f.timestamp("When it may not be used any more, unless it is seen again."),
  },
  ownedBy: { kind: "https_edge_route", field: "route_id" },
  traffic: true,
  internal: true,
  unrecorded: true,
});
