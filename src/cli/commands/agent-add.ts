import { toVisibleLine } from "../../lib/visible-text.ts";
import { callAgent, localSettings } from "../agent/local-client.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";
import { namedText, oneOf } from "../../settings/kinds/text.ts";
import { flagOnly, one, optional } from "../../settings/setting.ts";

export const agentAdd = defineCommand({
  name: "agent add",
  doc: "Publish another service with the local agent, until the agent stops or the tunnel is removed.",
  operands: "NAME PORT|HOST:PORT|URL",
  least: 2,
  most: 2,
  settings: {
    proto: flagOnly(one("Protocol of the service.", oneOf(["http", "tcp", "tls"]), { default: "http" })),
    url: flagOnly(optional("Public URL to publish (default: the server generates one).", namedText("URL"))),
    ...localSettings,
  },
  examples: ["postern agent add api 3001", "postern agent add db 5432 --proto tcp"],
  async run({ inspector, json, proto, url }, [name, addr]) {
    const body = { name, addr, proto, ...(url !== undefined && { url }) };
    const answer = await callAgent(inspector, "POST", "/api/tunnels", body);
    process.stdout.write(`${json ? JSON.stringify(answer) : toVisibleLine(String(answer["public_url"]))}\n`);
    return exitCodes.fine;
  },
});
