import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { styleFor, writeDirectly } from "../terminal/guarded-output.ts";
import { startAgent } from "../../agent/agent.ts";
import type { Agent } from "../../agent/agent.ts";
import type { ServerAddress } from "../../agent/connect.ts";
import type { Publication } from "../../agent/publication.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { parseUpstream } from "../../agent/upstream.ts";
import type { Upstream } from "../../agent/upstream.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { withDefault } from "../../settings/setting.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { platformSettings, settings } from "../../settings/settings.ts";
import type { SsoProvider } from "../../sso/sso-provider.ts";
import { openApi } from "../api/api-client.ts";
import { agentFailure } from "../agent/agent-failure.ts";
import { logService } from "../agent/agent-view.ts";
import { makeInspection } from "../agent/inspection.ts";
import type { Inspection } from "../agent/inspection.ts";
import { makeRequestLog } from "../agent/request-log.ts";
import { defineCommand } from "../command/command.ts";
import { dataFiles } from "../data/data-files.ts";
import { keepDevUrl, readDevUrl, openProvider } from "../data/dev-url.ts";
import { findServer } from "../data/local-server.ts";
import {
  checkLoopback,
  requireLogins,
  reachableListener,
  ssoIssuers,
  ssoSetting,
  startSsoProvider,
} from "../platform/dev-logins.ts";
import { withFreePort } from "../platform/free-port.ts";
import { startPlatform } from "../platform/platform.ts";
import type { Platform, PlatformOptions } from "../platform/platform.ts";
import { listeners } from "../platform/start-failure.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { logFormOf, openLog } from "../process/log-output.ts";
import { waitForSignal } from "../process/signals.ts";
import { warnOfSources } from "../process/sources.ts";
import { programName, posternVersion } from "../process/version.ts";
import { renderRequest } from "../terminal/request-line.ts";

const own = {
  config: settings.config,
  ...platformSettings,
  httpsListen: withDefault(settings.httpsListen, "127.0.0.1:8443"),
  agentListen: withDefault(settings.agentListen, "127.0.0.1:4443"),
  tcpBind: withDefault(settings.tcpBind, "127.0.0.1"),
  logLevel: withDefault(settings.logLevel, "warn"),
  drainDelay: withDefault(settings.drainDelay, "0"),
  captureRequests: withDefault(settings.captureRequests, "true"),
  url: settings.url,
  inspector: settings.inspector,
  inspectorHost: settings.inspectorHost,
  inspectDbSize: settings.inspectDbSize,
  json: settings.json,
  sso: ssoSetting,
} as const;

/** Used if all usual ports of the provider are in use. */
const anyPort = "http://127.0.0.1:0";

export const dev = defineCommand({
  name: "dev",
  doc: "Run the server and an agent on this machine's loopback interface, and publish a local port. Without a port, publish a sample service that shows each request. All data is in one directory, and the URL stays the same.",
  operands: "[PORT|HOST:PORT|URL]",
  least: 0,
  most: 1,
  settings: own,
  examples: ["postern dev", "postern dev 3000", "postern dev 3000 --sso dev"],
  async run(values, [target]) {
    const given = target === undefined ? undefined : upstreamOf(target);
    const stopped = waitForSignal();
    const log = openLog(logFormOf(values));
    warnOfSources(log);
    const { sso: kind } = values;
    const listening = listenersOf(values);
    if (kind !== undefined) checkLoopback(listening);
    const isAlone = reachableListener(listening) === undefined;
    // If other machines cannot connect, any route may require the provider's logins.
    const sso = isAlone ? await startSsoProvider([...ssoIssuers, anyPort], log, openProvider(values.data)) : undefined;
    const options = {
      ...values,
      ...(await freePorts(values)),
      // Other processes on this machine may bring such a provider. Other machines cannot reach one.
      loginIssuer: [...values.loginIssuer, ...(isAlone ? ssoIssuers : []), ...(sso ? [sso.issuer] : [])],
      log,
      version: posternVersion(),
      ...(sso && {
        developmentProvider: { issuer: sso.issuer, clientId: sso.clientId, clientSecret: sso.clientSecret },
      }),
    };
    const sampling = given
      ? undefined
      : import("../platform/sample-service.ts").then(({ startSampleService }) => startSampleService());
    const isFirstStart = !existsSync(join(values.data, dataFiles.caCertificate));
    const platform = await Promise.race([startDevPlatform(options), stopped]);
    if (typeof platform === "number") return platform;
    const sample = await sampling;
    const upstream = given ?? parseUpstream(String(sample?.port));
    const wanted = values.url ?? urlOfLastRun(values.data, platform);
    const protectedBy = kind === "dev=saml" ? "saml" : "oidc";
    sso?.serve({ origin: platform.idpUrl, port: platform.httpsPort, caPem: platform.caPem });
    const protector = kind === undefined ? undefined : sso;
    const published = protector
      ? await requireLogins(protector, protectedBy, platform, wanted)
      : { publish: { kind: "url", url: wanted } as const };
    const inspection = await makeInspection(values, false);
    const agent = await publishLocally(platform, upstream, published, inspection, log);
    const inspectorUrl = await inspection?.open();
    const ports = isAlone ? await servePorts(platform, agent, inspection, log) : undefined;
    const end = Promise.race([stopped, agent.told, agent.ended]);
    const url = await Promise.race([agent.online, end]);
    if (typeof url === "string") {
      if (published.publish.kind === "url") keepDevUrl(values.data, url);
      const consoleUrl = values.console === "on" ? await linkOf(platform) : undefined;
      const report = startReport(platform, url, upstream, { consoleUrl, inspectorUrl });
      process.stdout.write(
        values.json
          ? `${JSON.stringify({ ...report, ...(protector && ssoReport(protector)) })}\n`
          : renderWelcome(platform, url, upstream, {
              sample: sample !== undefined,
              isFirstStart,
              sso: protector?.issuer,
              consoleUrl,
              inspectorUrl,
            }),
      );
    }
    const ending = await end;
    inspection?.drain();
    ports?.stop();
    // Stop the edge first: its open requests need the agent to drain.
    await platform.stop();
    await agent.close();
    await inspection?.close();
    await sample?.stop();
    await sso?.stop();
    if (typeof ending === "number") return ending;
    throw agentFailure(ending, agent.server);
  },
});

function listenersOf({ apiListen, httpsListen, httpListen, agentListen }: ValuesOf<typeof own>) {
  return {
    [listeners.apiListen]: apiListen,
    [listeners.httpsListen]: httpsListen,
    [listeners.httpListen]: httpListen,
    [listeners.agentListen]: agentListen,
  };
}

function upstreamOf(target: string): Upstream {
  try {
    return parseUpstream(target);
  } catch (error) {
    throw new Failure("usage", `"${target}" ${(error as Error).message}`, { cause: error });
  }
}

interface LocalAgent extends Agent {
  readonly server: ServerAddress;
  /** Resolves with the public URL. */
  readonly online: Promise<string>;
  /** Resolves with the exit code if the local API stops the agent. */
  readonly told: Promise<number>;
}

/** Publishes the service through the platform in this process and shows its requests. */
async function publishLocally(
  platform: Platform,
  upstream: Upstream,
  { publish, url }: { readonly publish: Publication; readonly url?: string },
  inspection: Inspection | undefined,
  log: Log,
): Promise<LocalAgent> {
  const server = { host: "127.0.0.1", port: platform.agentPort };
  const requests = makeRequestLog(log);
  const online = Promise.withResolvers<string>();
  const tunnel: TunnelOptions = {
    name: "dev",
    upstream,
    metadata: "postern dev",
    publish,
    status: (status) => {
      const at = status.state === "online" ? (status.url ?? url) : undefined;
      if (at !== undefined) online.resolve(at);
    },
    service: (state) => logService(log, upstream, state),
    request: (request) => {
      if (process.stdout.isTTY)
        writeDirectly(process.stdout, `${renderRequest({ ...request, at: Date.now() }, process.stdout.columns)}\n`);
      else requests.add(request);
    },
  };
  const agent = startAgent({
    server,
    connections: 1,
    ca: platform.caPem,
    token: platform.authtoken,
    metadata: "postern dev",
    tunnels: [inspection ? await inspection.watch(tunnel) : tunnel],
    exchanges: inspection?.exchanges,
    requestTimes: inspection && ((lines) => inspection.requestTimes(lines)),
    version: posternVersion(),
    clock: systemClock,
    log,
    random: Math.random,
    retryFirst: true,
    status: (status) => inspection?.status(status),
  });
  const stopRequest = Promise.withResolvers<number>();
  if (inspection) {
    const { controlOf } = await import("../agent/agent-control.ts");
    const end = (): void => stopRequest.resolve(exitCodes.fine);
    inspection.control(controlOf(agent, [tunnel], inspection.watch, inspection.knows, end));
  }
  return { ...agent, server, online: online.promise, told: stopRequest.promise };
}

/** Serves the ports of services that are published in the console. */
async function servePorts(platform: Platform, agent: LocalAgent, inspection: Inspection | undefined, log: Log) {
  const { serveWantedPorts } = await import("../platform/served-ports.ts");
  return serveWantedPorts({
    postern: await apiOf(platform),
    agent,
    prepare: async (tunnel) => (inspection ? await inspection.watch(tunnel) : tunnel),
    clock: systemClock,
    log,
  });
}

/** Chooses the ports to listen on. Reports each default port that is in use and replaced. */
async function freePorts(values: Pick<ValuesOf<typeof own>, "apiListen" | "httpsListen" | "agentListen">) {
  const found = { apiListen: values.apiListen, httpsListen: values.httpsListen, agentListen: values.agentListen };
  for (const name of ["apiListen", "httpsListen", "agentListen"] as const) {
    const usual = values[name];
    found[name] = await withFreePort(own[name], usual);
    if (found[name].port === usual.port) continue;
    process.stderr.write(
      `postern: port ${usual.port} is in use, so ${listeners[name]} uses port ${found[name].port}\n`,
    );
  }
  return found;
}

/** Like `startPlatform`. If another platform runs in the same directory, the error includes its address. */
async function startDevPlatform(options: PlatformOptions): Promise<Platform> {
  try {
    return await startPlatform(options);
  } catch (error) {
    const isHeld =
      error instanceof Failure && (error.cause as NodeJS.ErrnoException | undefined)?.code === "DATABASE_HELD";
    const running = isHeld ? findServer(options.data) : undefined;
    if (!running) throw error;
    const url = readDevUrl(options.data);
    const place = `${url === undefined ? "" : `${url}, `}API ${running.apiUrl}, process ${running.pid}`;
    throw new Failure(
      "usage",
      `Postern already runs on "${options.data}" (${place}): use that server, stop it first, or set another directory with --data`,
      { cause: error },
    );
  }
}

/** Returns the URL of the previous run with the port of this one. */
function urlOfLastRun(directory: string, platform: Platform): string | undefined {
  const url = URL.parse(readDevUrl(directory) ?? "");
  if (!url?.hostname.endsWith(`.${platform.domain}`)) return undefined;
  return `https://${url.hostname}${platform.publicHttpsPort === 443 ? "" : `:${platform.publicHttpsPort}`}`;
}

/** Returns a link that logs in to the console once. */
async function linkOf(platform: Platform): Promise<string> {
  return (await (await apiOf(platform)).consoleLinks.create()).url;
}

function apiOf({ apiUrl, apiKey }: Platform) {
  return openApi({ data: "", config: undefined, apiUrl, apiKey });
}

function startReport(
  platform: Platform,
  url: string,
  upstream: Upstream,
  { consoleUrl, inspectorUrl }: Pick<Extras, "consoleUrl" | "inspectorUrl">,
): Record<string, unknown> {
  return {
    url,
    to: upstream.text,
    api_url: platform.apiUrl,
    api_key: platform.apiKey,
    authtoken: platform.authtoken,
    agent_port: platform.agentPort,
    https_port: platform.httpsPort,
    ca_file: platform.caFile,
    ...(consoleUrl !== undefined && { console_url: consoleUrl }),
    ...(inspectorUrl !== undefined && { inspector_url: inspectorUrl }),
  };
}

/** Includes the settings that other routes need for logins at this provider. */
function ssoReport({ issuer, clientId, clientSecret }: SsoProvider): Record<string, unknown> {
  return { sso_url: issuer, sso_client_id: clientId, sso_client_secret: clientSecret };
}

interface Extras {
  readonly sample: boolean;
  /** Whether this start created the CA. */
  readonly isFirstStart: boolean;
  /** URL of the development identity provider. */
  readonly sso: string | undefined;
  /** URL of the console with a code that logs in once. */
  readonly consoleUrl: string | undefined;
  /** URL of the inspector with the agent's requests; undefined if it is off. */
  readonly inspectorUrl: string | undefined;
}

function renderWelcome(
  platform: Platform,
  url: string,
  upstream: Upstream,
  { sample, isFirstStart, sso, consoleUrl, inspectorUrl }: Extras,
): string {
  const bold = (text: string): string => styleFor("bold", text, process.stdout);
  return `Postern ${posternVersion()} is ready.

  Public URL    ${bold(url)} → ${sample ? "a sample service" : upstream.text}
${
  consoleUrl === undefined
    ? ""
    : `  Console       ${bold(consoleUrl)}\n                logs in once; another link: ${programName()} console\n`
}${inspectorUrl === undefined ? "" : `  Inspector     ${inspectorUrl}\n`}  API           ${platform.apiUrl}
  API key       ${platform.apiKey}
  Agent token   ${platform.authtoken}
${sso === undefined ? "" : `  Logins        ${sso}: visitors choose any identity\n`}
${
  sso === undefined
    ? `Try it:\n\n  curl --cacert ${shortenPath(platform.caFile)} ${url}`
    : `Open ${bold(url)} in a browser, and click a name.\nLogged-in users, logout and keys: ${sso}`
}

${sample ? `Publish your own port instead: ${programName() === "postern" ? "postern dev" : "npm start --"} 3000\n` : ""}${isFirstStart ? `To open it in a browser without a warning: ${programName()} ca --install\n` : ""}`;
}

/** Returns the relative or the absolute path, whichever is shorter, quoted for the shell if necessary. */
function shortenPath(path: string): string {
  const near = relative(process.cwd(), path);
  const shown = near.startsWith("..") || near === "" ? path : near;
  return /^[\w./@%+,:=-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
