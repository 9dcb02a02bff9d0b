import { f, notes } from "../schema/fields.ts";
import { visibleName } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";

export const secret = defineResource({
  name: "secret",
  schemaName: "Secret",
  path: "/vault_secrets",
  listKey: "secrets",
  idPrefix: "secret",
  doc: "A write-only value for traffic policies. The API never returns the value.",
  fields: {
    name: f.string("Name; unique in its vault.", { required: true, format: visibleName }),
    ...notes,
    value: f.string("The value.", { required: true, writeOnly: true, secret: true, maxBytes: 4096 }),
    vault: f.ref("The vault of the secret.", { to: "vault", input: "vault_id" }, { immutable: true }),
    vault_name: f.string("Name of the vault, instead of its id.", { immutable: true, writeOnly: true }),
  },
  rules: [
    ({ vault_id, vault_name }) => {
      if ((vault_id === null) !== (vault_name === "")) return undefined;
      const found = vault_id === null ? "neither is given" : "both are given";
      return { path: "vault_id", message: `or vault_name must be set; ${found}` };
    },
  ],
  ownedBy: { kind: "vault", field: "vault_id" },
  traffic: true,
  claims: ({ vault_id, name }) => [{ space: `secret in ${vault_id}`, name, at: "name" }],
  taken: "name_taken",
});
