import { silentLog } from "../../lib/log.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes } from "../process/exit.ts";
import { logFormOf, openLog } from "../process/log-output.ts";
import { checkStart } from "../platform/check-start.ts";
import type { StartCheck } from "../platform/check-start.ts";
import { defaultEdgeCount } from "../platform/edge-count.ts";
import { startPlatform } from "../platform/platform.ts";
import type { LogTap, Platform } from "../platform/platform.ts";
import { platformSettings, settings } from "../../settings/settings.ts";
import { waitForSignal, onReload } from "../process/signals.ts";
import { warnOfSources } from "../process/sources.ts";
import { posternVersion } from "../process/version.ts";

const own = {
  config: settings.config,
  ...platformSettings,
  json: settings.json,
  check: flagOnly(
    toggle(
      "Print what a start would do to the database and start nothing. Exits with 0 if nothing needs migrating, 8 if the start would migrate, 2 if it would refuse.",
    ),
  ),
} as const;

export const serve = defineCommand({
  name: "serve",
  doc: "Run the server: the management API, the HTTPS edge and the agent listener, in one process. The first start creates an API key and an agent token, prints them once, and stores them in the data directory.",
  operands: "",
  least: 0,
  most: 0,
  settings: own,
  examples: [
    "postern serve --check --config /etc/postern/postern.yaml",
    "postern serve --data /var/lib/postern --domain t.example.com --https-listen :443 --http-listen :80",
  ],
  async run({ check, ...values }) {
    if (check) return printCheck(await checkStart(values, silentLog), values.json);
    const stopped = waitForSignal();
    let reload: () => void = () => undefined;
    onReload(() => reload());
    const logTap: LogTap = {};
    const log = openLog(logFormOf(values), (line) => logTap.take?.(line));
    warnOfSources(log);
    const version = posternVersion();
    const platform = await Promise.race([
      startPlatform({ ...values, edges: values.edges ?? defaultEdgeCount(), log, logTap, version }),
      stopped,
    ]);
    if (typeof platform === "number") return platform;
    process.stdout.write(values.json ? `${JSON.stringify(startReport(platform))}\n` : renderWelcome(platform));
    reload = () => platform.reload();
    const code = await stopped;
    log.info("stopping");
    await platform.stop();
    return code;
  },
});

function printCheck(found: StartCheck, isJson: boolean): number {
  const sentences: Readonly<Record<StartCheck["change"], string>> = {
    create: "The start creates a new database.",
    migrate: `The start migrates the database: ${found.pending.join(", ")}. ${
      found.backup === undefined ? "It takes no backup." : `Before that, it writes a backup to "${found.backup}".`
    }`,
    none: "The database is up to date.",
  };
  process.stdout.write(
    isJson
      ? `${JSON.stringify({ version: posternVersion(), ...found })}\n`
      : `Postern ${posternVersion()}: ${sentences[found.change]}\n`,
  );
  return found.change === "migrate" ? exitCodes.planHasChanges : exitCodes.fine;
}

function startReport(platform: Platform): Record<string, unknown> {
  return {
    api_url: platform.apiUrl,
    https_port: platform.httpsPort,
    http_port: platform.httpPort ?? null,
    agent_port: platform.agentPort,
    ...(platform.sshPort !== undefined && { ssh_port: platform.sshPort, ssh_host_key: platform.sshHostKey }),
    domain: platform.domain,
    ca_file: platform.caFile,
    ...(platform.firstStart ? { api_key: platform.apiKey, authtoken: platform.authtoken } : {}),
  };
}

function renderWelcome(platform: Platform): string {
  const port = platform.publicHttpsPort === 443 ? "" : `:${platform.publicHttpsPort}`;
  const lines = [
    `Postern ${posternVersion()} is ready.`,
    "",
    `  API           ${platform.apiUrl}`,
    `  Public        https://NAME.${platform.domain}${port}`,
    `  Agents        port ${platform.agentPort}`,
    ...(platform.sshPort === undefined
      ? []
      : [`  SSH           port ${platform.sshPort}, host key ${platform.sshHostKey}`]),
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
