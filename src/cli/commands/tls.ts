import { publishTargets, publishSettings } from "../agent/publish-targets.ts";
import { sharingSettings } from "../agent/sharing.ts";
import { defineCommand } from "../command/command.ts";
import { tlsTunnelSettings } from "../../settings/tunnels.ts";

export const tls = defineCommand({
  name: "tls",
  doc: "Publish a local TLS service. The server forwards connections by their server name without decrypting them, and the service uses its own certificate. With --label, publish to matching TLS edges.",
  operands: "PORT|HOST:PORT",
  least: 1,
  most: 1,
  settings: { ...tlsTunnelSettings, ...sharingSettings, ...publishSettings },
  examples: [
    "postern tls 8443",
    "postern tls 8443 --url tls://mail.example.com --server t.example.com:4443",
    "postern tls 8443 --label app=mail",
  ],
  run: (values, targets) => publishTargets("tls", values, targets),
});
