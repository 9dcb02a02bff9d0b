import { defineCommand } from "../command/command.ts";
import { logFormOf, openLog } from "../process/log-output.ts";
import { usualEdges } from "../platform/edge-count.ts";
import { startPlatform } from "../platform/platform.ts";
import type { Platform } from "../platform/platform.ts";
import { platformSettings, settings } from "../../settings/settings.ts";
import { interrupted } from "../process/signals.ts";
import { warnOfSources } from "../process/sources.ts";
import { posternVersion } from "../process/version.ts";

const own = { config: settings.config, ...platformSettings, json: settings.json } as const;

export const serve = defineCommand({
  name: "serve",
  doc: "Run the server: the management API, the HTTPS edge and the agent listener, in one process. The first start creates an API key and an agent token, prints them once, and stores them in the data directory.",
  operands: "",
  least: 0,
  most: 0,
  settings: own,
  examples: ["postern serve --data /var/lib/postern --domain t.example.com --https-listen :443 --http-listen :80"],
  async run(values) {
    const stopped = interrupted();
    const log = openLog(logFormOf(values));
    warnOfSources(log);
    const version = posternVersion();
    const platform = await Promise.race([
      startPlatform({ ...values, edges: values.edges ?? usualEdges(), log, version }),
      stopped,
    ]);
    if (typeof platform === "number") return platform;
    process.stdout.write(values.json ? `${JSON.stringify(startReport(platform))}\n` : welcome(platform));
    const code = await stopped;
    log.info("stopping");
    await platform.stop();
    return code;
  },
});

function startReport(platform: Platform): Record<string, unknown> {
  return {
    api_url: platform.apiUrl,
    https_port: platform.httpsPort,
    http_port: platform.httpPort ?? null,
    agent_port: platform.agentPort,
    domain: platform.domain,
    ca_file: platform.caFile,
    ...(platform.firstStart ? { api_key: platform.apiKey, authtoken: platform.authtoken } : {}),
  };
}

function welcome(platform: Platform): string {
  const port = platform.publicHttpsPort === 443 ? "" : `:${platform.publicHttpsPort}`;
  const lines = [
    `Postern ${posternVersion()} is ready.`,
    "",
    `  API           ${platform.apiUrl}`,
    `  Public        https://NAME.${platform.domain}${port}`,
    `  Agents        port ${platform.agentPort}`,
    `  CA            ${platform.caFile}`,
  ];
  if (platform.firstStart) {
    lines.push(
      `  API key       ${platform.apiKey}`,
      `  Agent token   ${platform.authtoken}`,
      "",
      "The key and the token are not shown again. Commands on this machine read them from the data directory.",
    );
  }
  return `${lines.join("\n")}\n\nPublish a local port: postern http 3000\n`;
}
