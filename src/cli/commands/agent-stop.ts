import { callAgent, localSettings } from "../agent/local-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

export const agentStop = defineCommand({
  name: "agent stop",
  doc: "Have the agent that runs here take its tunnels away and end, as a signal does.",
  operands: "",
  least: 0,
  most: 0,
  settings: { inspector: localSettings.inspector },
  examples: ["postern agent stop"],
  async run({ inspector }) {
    await callAgent(inspector, "POST", "/api/stop", {});
    return exitCodes.fine;
  },
});
