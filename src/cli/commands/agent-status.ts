import { toVisibleLine } from "../../lib/visible-text.ts";
import { callAgent, localSettings } from "../agent/local-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";

interface Status {
  readonly status: string;
  readonly agent_version: string;
  readonly session: { readonly legs: readonly { readonly latency: string }[] };
}

export const agentStatus = defineCommand({
  name: "agent status",
  doc: "Print whether the local agent has a session with its server. Exits with code 4 if there is no session or no agent.",
  operands: "",
  least: 0,
  most: 0,
  settings: localSettings,
  examples: ["postern agent status", "postern agent status --inspector 4041 --json"],
  async run({ inspector, json }) {
    const answer = await callAgent(inspector, "GET", "/api/status");
    const { status, agent_version: version, session } = answer as unknown as Status;
    const [leg] = session.legs;
    const latency = leg ? `, ${leg.latency} to the server` : "";
    process.stdout.write(
      json ? `${JSON.stringify(answer)}\n` : `${toVisibleLine(`${status}${latency} (version ${version})`)}\n`,
    );
    return status === "online" ? exitCodes.fine : exitCodes.unreachable;
  },
});
