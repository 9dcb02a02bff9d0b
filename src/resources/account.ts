import { f, notes } from "../schema/fields.ts";
import { visibleName } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";
import { exampleToken } from "./token-fields.ts";

export const account = defineResource({
  name: "account",
  schemaName: "Account",
  path: "/accounts",
  listKey: "accounts",
  idPrefix: "ac",
  doc: "A tenant: everything else belongs to one account and is invisible to all others.",
  fields: {
    name: f.string("Human-readable name; unique on the server.", { required: true, format: visibleName }),
    ...notes,
    api_key: f.nullableString("Its first API key: only in the response to its creation, null afterwards.", {
      live: true,
      example: exampleToken("postern_ak"),
    }),
    authtoken: f.nullableString("Its first agent token: only in the response to its creation, null afterwards.", {
      live: true,
      example: exampleToken("postern_at"),
    }),
  },
  operations: ["create", "get", "list", "update"],
  operatorOnly: true,
  traffic: true,
  claims: ({ name }) => [{ space: "account_name", name, global: true }],
  taken: "name_taken",
});
