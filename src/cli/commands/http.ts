import { parseUpstream } from "../../agent/upstream.ts";
import { agentSso } from "../agent/agent-logins.ts";
import { agentSettings, publish } from "../agent/publish.ts";
import { defineCommand } from "../command/command.ts";
import { settings } from "../../settings/settings.ts";

export const http = defineCommand({
  name: "http",
  doc: "Publish a local HTTP service: connects out to the server, and forwards what comes in at the public URL. Without --server it uses the server that runs here.",
  operands: "PORT|HOST:PORT|URL",
  least: 1,
  most: 1,
  settings: {
    ...agentSettings,
    proxyProtocol: settings.proxyProtocol,
    upstreamProtocol: settings.upstreamProtocol,
    sso: agentSso,
  },
  examples: [
    "postern http 3000",
    "postern http 3000 --url https://app.t.example.com --server t.example.com:4443",
    "postern http localhost:3000 --label app=web --label dc=eu",
    "postern http 3000 --sso dev",
  ],
  run: (values, [target = ""]) =>
    publish(values, target, {
      proto: "https",
      proxyProtocol: values.proxyProtocol,
      sso: values.sso !== undefined,
      parse(given) {
        const upstream = parseUpstream(given);
        // The header would come behind the TLS handshake, where no service looks for it.
        if (upstream.tls && values.proxyProtocol !== 0) throw new Error("cannot be https:// with --proxy-protocol");
        return { ...upstream, http2: values.upstreamProtocol === "http2" };
      },
    }),
});
