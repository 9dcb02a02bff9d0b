import { agentSso } from "../agent/agent-logins.ts";
import { publish, publishSettings } from "../agent/publish.ts";
import { defineCommand } from "../command/command.ts";
import { httpTunnelSettings } from "../../settings/tunnels.ts";

export const http = defineCommand({
  name: "http",
  doc: "Publish a local HTTP service: connects out to the server, and forwards what comes in at the public URL. Without --server it uses the server that runs here.",
  operands: "PORT|HOST:PORT|URL|unix:PATH|file://DIR|PATH=TARGET…",
  least: 1,
  most: Number.POSITIVE_INFINITY,
  settings: {
    ...httpTunnelSettings,
    ...publishSettings,
    sso: agentSso,
  },
  examples: [
    "postern http 3000",
    "postern http 3000 --url https://app.t.example.com --server t.example.com:4443",
    "postern http localhost:3000 --label app=web --label dc=eu",
    "postern http 3000 /api=3001 /docs=file:///srv/docs",
    "postern http file:///srv/site --basic-auth-file users",
    "postern http 3000 --sso dev",
  ],
  run: (values, targets) => publish("http", values, targets, values.sso !== undefined),
});
