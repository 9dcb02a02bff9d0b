import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

/** Claim space for metadata. Each login has one. */
export const metadataSpace = "saml metadata";

export const samlMetadata = defineResource({
  name: "saml_metadata",
  schemaName: "SAMLMetadata",
  path: "/saml_metadata",
  listKey: "saml_metadata",
  idPrefix: "samlmd",
  doc: "The last valid metadata from an identity provider's URL.",
  fields: {
    asked_by: f.string("Name of the login: the id of a route, or another name for a policy.", { maxBytes: 512 }),
    asked_at: f.timestamp("Last time an edge requested the metadata for a policy's login. Unused entries are deleted."),
    document: f.string("Further configuration of the login: it identifies the expected provider.", {
      maxBytes: 262_144,
    }),
    url: f.string("The address.", { maxBytes: 2048 }),
    entity_id: f.string("The expected provider. Metadata of other providers is rejected.", { maxBytes: 4096 }),
    metadata: f.string("The parsed metadata, as JSON; empty until valid metadata was found.", { maxBytes: 131_072 }),
    problem: f.string("Error of the last fetch. The previous valid metadata stays in use.", {
      maxBytes: 4096,
    }),
    etag: f.string("ETag of the metadata.", { maxBytes: 1024 }),
    fetched_at: f.timestamp("Time of the last successful fetch."),
    good_until: f.timestamp("Time when the metadata expires, unless it is fetched again."),
  },
  claims: ({ asked_by }) => (asked_by === "" ? [] : [{ space: metadataSpace, name: asked_by }]),
  traffic: true,
  internal: true,
  unrecorded: true,
});
