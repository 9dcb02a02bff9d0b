import { f, notes } from "../schema/fields.ts";
import { visibleName } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";

export const vault = defineResource({
  name: "vault",
  schemaName: "Vault",
  path: "/vaults",
  listKey: "vaults",
  idPrefix: "vault",
  doc: "A named set of secrets.",
  fields: { name: f.string("Name; unique in the account.", { required: true, format: visibleName }), ...notes },
  traffic: true,
  claims: ({ name }) => [{ space: "vault", name, at: "name" }],
  taken: "name_taken",
});
