/** What traffic policies may do and reach. Read by the edge. */
import { certificates } from "./kinds/file.ts";
import { hostPattern } from "./kinds/address.ts";
import { count } from "./kinds/number.ts";
import { oneOf } from "./kinds/text.ts";
import { many, one, optional, toggle } from "./setting.ts";

export const policySettings = {
  policyExpressionErrors: one(
    "What an expression of a traffic policy that fails does: its rule does not match, or the request is refused with 500.",
    oneOf(["no_match", "refuse"]),
    { default: "no_match" },
  ),
  policyRateKeys: one(
    "Keys of rate limits in traffic policies that an edge remembers, of all limits together; beyond it the limit that has the most forgets those that were unused for longest. About 400 bytes each.",
    count("NUMBER"),
    { default: 250_000 },
  ),
  policyHosts: many(
    "Host outside that traffic policies may send requests to (http-request); repeatable. *.NAME stands for all names below NAME. Without any, they reach internal endpoints of their own account alone; addresses that are not public are refused whatever a name leads to, unless policy-local-addresses says otherwise.",
    hostPattern,
  ),
  policyLocalAddresses: toggle(
    "Let what traffic policies ask, the hosts of policy-hosts and those of key sets (jwt-validation), be at any address, such as one inside; the former without TLS, too.",
  ),
  policyCa: optional(
    "PEM file of the authorities that hosts which traffic policies ask have their certificates from: policy-hosts, and those of key sets (jwt-validation).",
    certificates,
    { shownDefault: "the system's" },
  ),
} as const;
