import { callAgent, localSettings } from "../agent/local-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

export const agentStop = defineCommand({
  name: "agent stop",
  doc: "Close the tunnels of the local agent and stop it.",
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
