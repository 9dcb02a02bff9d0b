import { f, notes } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { domain, visibleName } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";
import { captureField } from "./capture.ts";
import { exampleToken } from "./token-fields.ts";

/** Claim space for names that the operator grants. Each name belongs to one account. */
export const grantedSpace = "granted domain";

/** Like `domain`, but without wildcards: names below it are granted as well. */
const grantedDomain: StringFormat = {
  ...domain,
  check: (text) => (text.startsWith("*.") ? 'be a name without "*"' : domain.check(text)),
};

export const account = defineResource({
  name: "account",
  schemaName: "Account",
  path: "/accounts",
  listKey: "accounts",
  idPrefix: "ac",
  doc: "A tenant. Every other object belongs to one account, and other accounts cannot see it.",
  fields: {
    name: f.string("Human-readable name; unique on the server.", { required: true, format: visibleName }),
    ...notes,
    domains: f.list(
      "Host names that the operator grants to the account. These names and all names below need no other proof.",
      f.string("A host name, without `*.`.", { format: grantedDomain }),
      { maxItems: 100, unique: true },
    ),
    capture: captureField,
    api_key: f.nullableString(
      "The account's first API key. Returned only when the account is created, null afterwards.",
      {
        live: true,
        example: exampleToken("postern_ak"),
      },
    ),
    authtoken: f.nullableString(
      "The account's first agent token. Returned only when the account is created, null afterwards.",
      {
        live: true,
        example: exampleToken("postern_at"),
      },
    ),
  },
  operations: ["create", "get", "list", "update"],
  operatorOnly: true,
  traffic: true,
  claims: ({ name, domains }) => [
    { space: "account_name", name, global: true, at: "name" },
    ...domains.map((one, index) => ({ space: grantedSpace, name: one, global: true, at: `domains[${index}]` })),
  ],
  taken: "name_taken",
});
