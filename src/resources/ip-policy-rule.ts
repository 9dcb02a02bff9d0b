import { parseCidr } from "../lib/address.ts";
import { f, notes } from "../schema/fields.ts";
import { cidr } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";

export const ipPolicyRule = defineResource({
  name: "ip_policy_rule",
  schemaName: "IPPolicyRule",
  path: "/ip_policy_rules",
  listKey: "ip_policy_rules",
  idPrefix: "ipr",
  doc: "An allow or deny entry of an IP policy.",
  fields: {
    ...notes,
    cidr: f.string("An IP address, or a range in CIDR notation, IPv4 or IPv6. An address means its /32 or /128.", {
      required: true,
      format: cidr,
    }),
    ip_policy: f.ref(
      "The IP policy the rule belongs to.",
      { to: "ip_policy", input: "ip_policy_id" },
      { required: true, immutable: true },
    ),
    action: f.oneOf("The action for a matching source.", ["allow", "deny"], { required: true, immutable: true }),
  },
  ownedBy: { kind: "ip_policy", field: "ip_policy_id" },
  traffic: true,
  claims: ({ ip_policy_id, cidr }) => [
    { space: `cidr of ${ip_policy_id}`, name: parseCidr(cidr)?.text ?? cidr, at: "cidr" },
  ],
  taken: "cidr_duplicate",
});
