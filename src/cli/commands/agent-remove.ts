import { callAgent, localSettings } from "../agent/local-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

export const agentRemove = defineCommand({
  name: "agent remove",
  doc: "Remove a tunnel from the local agent. Open connections continue.",
  operands: "NAME",
  least: 1,
  most: 1,
  settings: { inspector: localSettings.inspector },
  examples: ["postern agent remove api"],
  async run({ inspector }, [name = ""]) {
    await callAgent(inspector, "DELETE", `/api/tunnels/${encodeURIComponent(name)}`);
    return exitCodes.fine;
  },
});
