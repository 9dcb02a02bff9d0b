import { publishTargets, publishSettings } from "../agent/publish-targets.ts";
import { sharingSettings } from "../agent/sharing.ts";
import { defineCommand } from "../command/command.ts";
import { tcpTunnelSettings } from "../../settings/tunnels.ts";

export const tcp = defineCommand({
  name: "tcp",
  doc: "Publish a local TCP service, such as a database, at a fixed port of the server. With --url tcp://HOST:PORT, use an address that the account has reserved. With --label, publish to matching TCP and TLS edges.",
  operands: "PORT|HOST:PORT",
  least: 1,
  most: 1,
  settings: { ...tcpTunnelSettings, ...sharingSettings, ...publishSettings },
  examples: [
    "postern tcp 5432",
    "postern tcp 5432 --url tcp://t.example.com:20432 --server t.example.com:4443",
    "postern tcp 5432 --label app=db --proxy-protocol 2",
  ],
  run: (values, targets) => publishTargets("tcp", values, targets),
});
