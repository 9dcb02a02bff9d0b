import { notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const ipPolicy = defineResource({
  name: "ip_policy",
  schemaName: "IPPolicy",
  path: "/ip_policies",
  listKey: "ip_policies",
  idPrefix: "ipp",
  doc: "A set of rules that admits or denies source addresses. Without a rule that allows, it admits nobody.",
  fields: notes,
  traffic: true,
});
