/** What traffic policies may do and access. Read by the edge. */
import { certificates } from "./kinds/file.ts";
import { hostPattern } from "./kinds/address.ts";
import { countKind } from "./kinds/number.ts";
import { oneOf } from "./kinds/text.ts";
import { many, one, optional, toggle } from "./setting.ts";

export const policySettings = {
  policyExpressionErrors: one(
    "Result if an expression of a traffic policy fails: the rule does not match, or the request gets 500.",
    oneOf(["no_match", "refuse"]),
    { default: "no_match" },
  ),
  policyRateKeys: one(
    "Maximum keys of all rate limits in traffic policies that an edge stores, about 400 bytes each. Above the maximum, the limit with the most keys discards those unused for longest.",
    countKind("NUMBER"),
    { default: 250_000 },
  ),
  policyHosts: many(
    "External host that traffic policies may call (http-request); repeatable. *.NAME means all names below NAME. By default policies call only internal endpoints of their account. Names that resolve to private addresses are rejected unless policy-local-addresses is set.",
    hostPattern,
  ),
  policyLocalAddresses: toggle(
    "Allow private addresses for the hosts of policy-hosts, also without TLS, and for hosts of key sets (jwt-validation).",
  ),
  policyCa: optional(
    "PEM file with the CAs that sign the certificates of hosts called by traffic policies: policy-hosts and hosts of key sets (jwt-validation).",
    certificates,
    { shownDefault: "the system's" },
  ),
} as const;
