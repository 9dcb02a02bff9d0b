import { f, notes } from "../schema/fields.ts";
import { aclRule } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";
import { exampleToken, tokenClaims, tokenFields } from "./token-fields.ts";

export const credential = defineResource({
  name: "credential",
  schemaName: "Credential",
  path: "/credentials",
  listKey: "credentials",
  idPrefix: "cr",
  doc: "A token that agents use to connect.",
  fields: {
    ...notes,
    ...tokenFields,
    token: { ...tokenFields.token, example: exampleToken("postern_at") },
    acl: f.list(
      "Names that agents can bind with the token; empty: all.",
      f.string("`*`, or `bind:` and a domain, a `host:port` or a label `key=value`, with `*` as wildcard.", {
        format: aclRule,
      }),
      { maxItems: 100 },
    ),
  },
  traffic: true,
  issued: true,
  claims: tokenClaims,
});
