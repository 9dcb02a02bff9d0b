import { callAgent, localSettings } from "../agent/local-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

interface Running {
  readonly tunnels: readonly { readonly public_url: string }[];
}

export const agentStop = defineCommand({
  name: "agent stop",
  doc: "Close the tunnels of the local agent and stop it.",
  operands: "",
  least: 0,
  most: 0,
  settings: { inspector: localSettings.inspector },
  examples: ["postern agent stop"],
  async run({ inspector }) {
    // Several agents may run on this machine, so the output names the one that stopped.
    const { tunnels } = (await callAgent(inspector, "GET", "/api/tunnels")) as unknown as Running;
    await callAgent(inspector, "POST", "/api/stop", {});
    const urls = tunnels.map(({ public_url: url }) => url).filter((url) => url !== "");
    process.stdout.write(
      `stopped the agent with its inspector at port ${inspector.port}${urls.map((url) => `\n  ${url}`).join("")}\n`,
    );
    return exitCodes.fine;
  },
});
