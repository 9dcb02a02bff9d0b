import { agentSso } from "../agent/agent-logins.ts";
import { publishTargets, publishSettings } from "../agent/publish-targets.ts";
import { httpSharingSettings } from "../agent/sharing.ts";
import { defineCommand } from "../command/command.ts";
import { agentInboxSettings } from "../agent/agent-inbox-settings.ts";
import { httpTunnelSettings } from "../../settings/tunnels.ts";

export const http = defineCommand({
  name: "http",
  doc: "Publish a local HTTP service. The agent connects to the server and forwards requests from the public URL. Without --server, the agent uses the server on this machine.",
  operands: "[PORT|HOST:PORT|URL|unix:PATH|file://DIR|PATH=TARGET…]",
  least: 0,
  most: Number.POSITIVE_INFINITY,
  settings: {
    ...httpTunnelSettings,
    ...httpSharingSettings,
    ...publishSettings,
    ...agentInboxSettings,
    sso: agentSso,
  },
  examples: [
    "postern http 3000",
    "postern http 3000 --url https://app.t.example.com --server t.example.com:4443",
    "postern http localhost:3000 --label app=web --label dc=eu",
    "postern http 3000 /api=3001 /docs=file:///srv/docs",
    "postern http file:///srv/site --basic-auth-file users",
    "postern http 3000 --inbox --inbox-webhook-file webhooks",
    "postern http 3000 --sso dev",
    "postern http 3000 --password --qr --expires 2h",
    "postern http 3000 --login github --allow-email '*@example.com'",
    "postern http 8000 --mcp --login google --allow-email '*@example.com'",
    'postern http --mcp-stdio "npx some-server" --sso dev',
    "postern http 3000 --url https://app.t.example.com --compression --print-config",
  ],
  run: (values, targets) => publishTargets("http", values, targets, values.sso !== undefined),
});
