import { parseUpstream } from "../agent/upstream.ts";
import { agentSettings, publish } from "./agent-options.ts";
import { defineCommand } from "./command.ts";

export const http = defineCommand({
  name: "http",
  doc: "Publish a local HTTP service: connects out to the server, and forwards what comes in at the public URL. Without --server it uses the server that runs here.",
  operands: "PORT|HOST:PORT|URL",
  least: 1,
  most: 1,
  settings: agentSettings,
  examples: [
    "postern http 3000",
    "postern http 3000 --url https://app.t.example.com --server t.example.com:4443",
    "postern http localhost:3000 --label app=web --label dc=eu",
  ],
  run: (values, [target = ""]) => publish(values, target, { proto: "https", parse: parseUpstream }),
});
