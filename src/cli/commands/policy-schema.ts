import { policyJsonSchema } from "../../policy/json-schema.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

export const policySchema = defineCommand({
  name: "policy schema",
  doc: "Print the JSON Schema of traffic policies, for editors: which phases, actions and fields there are. What expressions mean, `postern policy check` says.",
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
