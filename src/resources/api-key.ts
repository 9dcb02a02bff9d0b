import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { tokenClaims, tokenFields } from "./token-fields.ts";

export const apiKey = defineResource({
  name: "api_key",
  schemaName: "APIKey",
  path: "/api_keys",
  listKey: "keys",
  idPrefix: "ak",
  doc: "A key to this API.",
  fields: {
    ...notes,
    ...tokenFields,
    operator: f.boolean("Whether the key may manage accounts. Only an operator's key can create another.", {
      immutable: true,
    }),
    last_used_at: f.timestamp("When it was last used, since the server started; else null.", { live: true }),
  },
  issued: true,
  claims: tokenClaims,
});
