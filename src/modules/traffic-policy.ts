import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { defineModule } from "./module.ts";

const require = createRequire(import.meta.url);

const policyText: StringFormat = {
  name: "traffic-policy",
  example: "on_http_request:\n  - actions:\n      - type: deny",
  check(text) {
    // Loaded when the first policy is looked at: every start would wait for its seventy files.
    const { parseDocument } = require("yaml") as typeof Yaml;
    // JSON is YAML; aliases are bounded by the library when they are resolved.
    const document = parseDocument(text, { logLevel: "silent", prettyErrors: true });
    const [error] = document.errors;
    if (error) return `be JSON or YAML: ${error.message.split("\n", 1)[0]}`;
    try {
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      if (typeof value === "object" && value !== null && !Array.isArray(value)) return undefined;
    } catch (caught) {
      return `be JSON or YAML: ${caught instanceof Error ? caught.message : String(caught)}`;
    }
    return "be an object of phases";
  },
};

export const trafficPolicy = defineModule({
  name: "traffic_policy",
  schemaName: "EndpointTrafficPolicy",
  on: ["https_route", "tls_edge", "tcp_edge"],
  doc: "Applies a traffic policy: rules of expressions and actions, by phase.",
  fields: {
    value: f.string("The policy, as JSON or YAML; stored as it is given.", {
      required: true,
      maxBytes: 65_536,
      format: policyText,
    }),
  },
  compile() {
    throw new Error("enforce traffic_policy: this server cannot apply policies");
  },
});
