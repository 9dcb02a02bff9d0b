import { f, notes } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { tokenClaims, tokenFields } from "./token-fields.ts";

const scope: StringFormat = {
  name: "scope",
  example: "read",
  check(text) {
    if (/^(?:read|write|secrets|exchanges|type:(?:\*|[a-z_]+)|metadata:.*)$/s.test(text)) return undefined;
    return "be read, write, secrets, exchanges, type:<kind> or metadata:<prefix>";
  },
};

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
    scopes: f.list(
      "What the key is limited to; empty: nothing. A limited key may do what its scopes allow together.",
      f.string(
        "`read` or `write`; `secrets` to see secrets, which are masked otherwise; `exchanges` to see what agents have kept of requests, and with `write` to have them sent again; `type:` and a kind of objects; `metadata:` and the beginning of their metadata.",
        { format: scope, maxBytes: 255 },
      ),
      { maxItems: 100, unique: true, immutable: true },
    ),
    last_used_at: f.timestamp("When it was last used, since the server started; else null.", { live: true }),
  },
  issued: true,
  refusals: ["operator_only"],
  claims: tokenClaims,
});
