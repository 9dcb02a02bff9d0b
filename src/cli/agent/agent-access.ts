/** Settings with which an agent connects: the server, the trusted CAs, and the token. */
import { parseServerAddress } from "../../agent/connect.ts";
import type { ConnectOptions, ServerAddress } from "../../agent/connect.ts";
import type { AgentOptions } from "../../agent/agent-options.ts";
import { dataFiles } from "../data/data-files.ts";
import { localAuthtoken, findRunningServer } from "../data/local-server.ts";
import type { LocalServer } from "../data/local-server.ts";
import { readTrustedAuthorities } from "../data/trusted-authorities.ts";
import { Failure, failOnError } from "../process/exit.ts";
import { posternVersion } from "../process/version.ts";
import { agentTelemetryPlan } from "../telemetry/telemetry-plan.ts";
import { openAgentLog } from "./agent-log.ts";
import { proxiesOf } from "./way-out.ts";
import { namedText } from "../../settings/kinds/text.ts";
import { flagOnly, many } from "../../settings/setting.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { agentSettings } from "../../settings/agents.ts";
import { exportSettings } from "../../settings/telemetry.ts";
import { settings } from "../../settings/settings.ts";

/** Agent files. A command with this setting reads settings from them instead of from its own file. */
export const agentConfig = flagOnly(
  many(
    "Agent file with the server and the services to publish: Postern's own format, or ngrok's version 2 or 3. Repeatable, later files override earlier ones (default: agent.yml in ~/.config/postern, if it exists).",
    namedText("FILE"),
    { flag: "config" },
  ),
);

export const accessSettings = {
  agentConfig,
  ...agentSettings,
  ...exportSettings,
  data: settings.data,
  logLevel: settings.logLevel,
  logFormat: settings.logFormat,
} as const;

type AccessValues = ValuesOf<typeof accessSettings>;

/** Throws `Failure` (usage) if no server is known. */
export function agentAccess(
  values: AccessValues,
): Required<Pick<AgentOptions, "server" | "otherServers" | "ca" | "token" | "connect">> {
  const { data } = values;
  const local = values.server === undefined ? findRunningServer(data) : undefined;
  const given = values.server ?? local?.agentAddress;
  if (given === undefined) {
    throw new Failure(
      "usage",
      `no server: set one with --server HOST:PORT, or start one on this machine with \`postern serve\` (its data directory would be "${data}", see --data)`,
    );
  }
  const token = local ? tokenFor(local, values) : values.authtoken;
  if (token === undefined) {
    throw new Failure(
      "usage",
      `no agent token for the server ${given}: set one with POSTERN_AUTHTOKEN or --token-file`,
    );
  }
  const [server, ...otherServers] = failOnError("--server", () =>
    given.split(",").map((one) => parseServerAddress(one.trim())),
  ) as [ServerAddress, ...ServerAddress[]];
  return {
    server,
    otherServers,
    connect: connectOf(values),
    ca: readTrustedAuthorities(values.ca, local && data),
    token,
  };
}

/** Returns the token in the directory of the server. Throws `Failure` (usage) if a different token was set. */
function tokenFor({ agentAddress }: LocalServer, { data, authtoken }: Pick<AccessValues, "data" | "authtoken">) {
  const own = localAuthtoken(data);
  if (authtoken === undefined || authtoken === own) return own;
  throw new Failure(
    "usage",
    `the address ${agentAddress} comes from "${data}", so your token from another place is not sent to it: set the server explicitly, with --server ${agentAddress} --ca ${data}/${dataFiles.caCertificate}`,
  );
}

/** Returns the options to connect to a server. Throws `Failure` (usage). */
export function connectOf({
  connectTimeout,
  dnsServer,
  proxy,
}: Pick<AccessValues, "connectTimeout" | "dnsServer" | "proxy">): ConnectOptions {
  return {
    timeoutMs: connectTimeout,
    dnsServers: dnsServer,
    proxy: failOnError("the proxy:", () => proxiesOf(proxy, process.env)),
  };
}

/** Returns the options of the agent's session and output. Throws `Failure` (usage). */
export function sessionOf(values: AccessValues) {
  return {
    metadata: values.sessionMetadata ?? "",
    connections: values.connections,
    giveUpMs: values.giveUpAfter,
    remoteManagement: values.remoteManagement,
    heartbeatIntervalMs: values.heartbeatInterval,
    heartbeatToleranceMs: values.heartbeatTolerance,
    log: openAgentLog(values),
    telemetry: agentTelemetryPlan(values, posternVersion()),
    inspector: values.inspector,
    inspectorHost: values.inspectorHost,
    inspectDbSize: values.inspectDbSize,
    screen: values.screen === "auto",
  };
}
