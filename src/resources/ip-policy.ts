import { notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const ipPolicy = defineResource({
  name: "ip_policy",
  schemaName: "IPPolicy",
  path: "/ip_policies",
  listKey: "ip_policies",
  idPrefix: "ipp",
  doc: "A set of rules that allows or denies source addresses. A policy without an allow rule allows no address.",
  fields: notes,
  traffic: true,
});
