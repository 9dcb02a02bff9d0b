import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

/** Each login has one. */
export const metadataSpace = "saml metadata";

export const samlMetadata = defineResource({
  name: "saml_metadata",
  schemaName: "SAMLMetadata",
  path: "/saml_metadata",
  listKey: "saml_metadata",
  idPrefix: "samlmd",
  doc: "What was last found at the address of an identity provider, and was good.",
  fields: {
    asked_by: f.string("What its login is called: the id of a route, or the name of another one.", { maxBytes: 512 }),
    asked_at: f.timestamp("When an edge has last asked for it, where no route does; it goes when nobody does."),
    document: f.string("What such a login's configuration holds besides: it says whose metadata is expected.", {
      maxBytes: 262_144,
    }),
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
  claims: ({ asked_by }) => (asked_by === "" ? [] : [{ space: metadataSpace, name: asked_by }]),
  traffic: true,
  internal: true,
  unrecorded: true,
});
