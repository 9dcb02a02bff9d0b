import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const account = defineResource({
  name: "account",
  schemaName: "Account",
  path: "/accounts",
  listKey: "accounts",
  idPrefix: "ac",
  doc: "A tenant: everything else belongs to one account and is invisible to all others.",
  fields: {
    name: f.string("Human-readable name; unique on the server.", { required: true }),
    ...notes,
    api_key: f.nullableString("Its first API key: only in the response to its creation, null afterwards.", {
      live: true,
    }),
    authtoken: f.nullableString("Its first agent token: only in the response to its creation, null afterwards.", {
      live: true,
    }),
  },
  operations: ["create", "get", "list", "update"],
  operatorOnly: true,
  traffic: true,
  claims: ({ name }) => [{ space: "account_name", name, global: true }],
  taken: "name_taken",
});
