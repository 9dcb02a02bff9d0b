import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const ipRestriction = defineResource({
  name: "ip_restriction",
  schemaName: "IPRestriction",
  path: "/ip_restrictions",
  listKey: "ip_restrictions",
  idPrefix: "ipx",
  doc: "Addresses from which a part of the account can be used; one restriction for each part.",
  fields: {
    ...notes,
    enforced: f.boolean("Whether other addresses are denied."),
    type: f.oneOf("The part of the account.", ["dashboard", "api", "agent", "endpoints"], {
      required: true,
      immutable: true,
    }),
    ip_policies: f.refList(
      "IP policies that allow a source.",
      { to: "ip_policy", input: "ip_policy_ids" },
      { required: true, minItems: 1, keepIfEmpty: true },
    ),
  },
  traffic: true,
  claims: ({ type }) => [{ space: "ip_restriction", name: type, at: "type" }],
  taken: "restriction_exists",
  refusals: ["restriction_shuts_out"],
});
