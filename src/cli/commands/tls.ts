import { publish, publishSettings } from "../agent/publish.ts";
import { defineCommand } from "../command/command.ts";
import { tlsTunnelSettings } from "../../settings/tunnels.ts";

export const tls = defineCommand({
  name: "tls",
  doc: "Publish a local TLS service: connections are passed through untouched by their server name, and the service shows its own certificate. With --label behind the TLS edges that ask for it.",
  operands: "PORT|HOST:PORT",
  least: 1,
  most: 1,
  settings: { ...tlsTunnelSettings, ...publishSettings },
  examples: [
    "postern tls 8443",
    "postern tls 8443 --url tls://mail.example.com --server t.example.com:4443",
    "postern tls 8443 --label app=mail",
  ],
  run: (values, targets) => publish("tls", values, targets),
});
