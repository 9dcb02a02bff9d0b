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
  doc: "A key for this API.",
  fields: {
    ...notes,
    ...tokenFields,
    operator: f.boolean(
      "Whether the key can manage accounts. Only an operator's key can create another operator's key.",
      {
        immutable: true,
      },
    ),
    scopes: f.list(
      "Scopes of the key; empty: no limit. A limited key can do everything that at least one scope allows.",
      f.string(
        "`read` or `write`. `secrets` shows secrets in clear text. `exchanges` shows captured requests, and with `write` replays them. `type:` and a kind limit the objects, as does `metadata:` and the start of their metadata.",
        { format: scope, maxBytes: 255 },
      ),
      { maxItems: 100, unique: true, immutable: true },
    ),
  },
  issued: true,
  refusals: ["operator_only"],
  claims: tokenClaims,
});
