import { policyJsonSchema } from "../../policy/policy-json-schema.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

export const policySchema = defineCommand({
  name: "policy schema",
  doc: "Print the JSON Schema of traffic policies for editors: all phases, actions and fields. The schema does not check expressions; `postern policy check` does.",
  operands: "",
  least: 0,
  most: 0,
  settings: {},
  examples: ["postern policy schema > policy.schema.json"],
  run() {
    process.stdout.write(`${JSON.stringify(policyJsonSchema(), undefined, 2)}\n`);
    return Promise.resolve(exitCodes.fine);
  },
});
