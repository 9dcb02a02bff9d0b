import { concealedPolicy } from "../policy/concealment.ts";
import { maxPolicyBytes, policyIssue } from "../policy/document.ts";
import { f } from "../schema/fields.ts";
import { defineModule } from "../traffic/module.ts";

export const trafficPolicy = defineModule({
  name: "traffic_policy",
  schemaName: "EndpointTrafficPolicy",
  on: ["https_route", "tls_edge", "tcp_edge"],
  doc: "Applies a traffic policy: rules of expressions and actions, by phase.",
  acts: {},
  fields: {
    value: f.string("The policy, as JSON or YAML; stored as it is given.", {
      required: true,
      maxBytes: maxPolicyBytes,
      sensitive: concealedPolicy,
      example: "on_tcp_connect:\n  - actions:\n      - type: deny",
    }),
  },
  rules: [({ value }, place) => policyIssue(value, place === "https_route" ? "http" : "connection", "value")],
  compile() {
    throw new Error("enforce traffic_policy: this server cannot apply policies");
  },
});
