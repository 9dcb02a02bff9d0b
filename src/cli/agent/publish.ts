/** What the commands that publish have in common: their settings, and what an agent is made of from them. */
import { readFileSync } from "node:fs";
import { parseServerAddress } from "../../agent/connect.ts";
import { placeOfUrl } from "../../agent/publication.ts";
import type { PublishedProto, Publication } from "../../agent/publication.ts";
import type { AgentOptions } from "../../agent/agent.ts";
import type { Upstream } from "../../agent/upstream.ts";
import { describeLoss } from "../../agent/end.ts";
import { reachService } from "../../agent/service-watch.ts";
import { startAgent } from "../../agent/agent.ts";
import { systemClock } from "../../lib/clock.ts";
import { agentFailure } from "./agent-failure.ts";
import { startLocalProvider } from "./agent-logins.ts";
import { liveView, plainView } from "./agent-view.ts";
import { trustedAuthorities } from "../data/trusted-authorities.ts";
import { Failure } from "../process/exit.ts";
import { findServer, localAuthtoken } from "../data/local-server.ts";
import { logFormOf, openLog } from "../process/log-output.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";
import { interrupted } from "../process/signals.ts";
import { posternVersion } from "../process/version.ts";

export const agentSettings = {
  config: settings.config,
  url: settings.url,
  label: settings.label,
  metadata: settings.metadata,
  server: settings.server,
  ca: settings.ca,
  authtoken: settings.authtoken,
  trafficPolicyFile: settings.trafficPolicyFile,
  pooling: settings.pooling,
  requireUpstream: settings.requireUpstream,
  data: settings.data,
  logLevel: settings.logLevel,
  logFormat: settings.logFormat,
  json: settings.json,
} as const;

type Values = ValuesOf<typeof agentSettings>;

/** What is published, and as what. */
interface Published {
  readonly proto: PublishedProto;
  readonly proxyProtocol?: 0 | 1 | 2;
  /** Visitors log in at a provider that comes along. */
  readonly sso?: boolean;
  /** Throws `Error` with what the operand must be. */
  readonly parse: (target: string) => Upstream;
}

/** Publishes `target` until a signal ends it; resolves with the exit code. Throws `Failure`. */
export async function publish(values: Values, target: string, published: Published): Promise<number> {
  const given = agentOptions(values, target, published);
  const log = openLog(logFormOf(values));
  if (values.requireUpstream) await requireService(given.upstream);
  const sso = published.sso ? await startLocalProvider(given, values.data, log) : undefined;
  const options = { ...given, ...(sso && { publish: sso.publish }) };
  const stopped = interrupted();
  const isLive = process.stdout.isTTY && !values.json && published.proto === "https";
  const view = isLive ? liveView(options, log) : plainView(options, log, values.json);
  const agent = startAgent({
    ...options,
    clock: systemClock,
    log: view.log,
    random: Math.random,
    retryFirst: false,
    request: view.request,
    status: view.status,
    // A bare connection may be the only one that a service takes; HTTP services take any number.
    ...(published.proto === "https" && { service: view.service }),
  });
  const end = await Promise.race([stopped, agent.ended]);
  if (typeof end === "number") await agent.close();
  await sso?.stop();
  view.close();
  if (typeof end === "number") return end;
  throw agentFailure(end, options.server);
}

/** What the agent says of itself, from the settings. Throws `Failure` (usage). */
function agentOptions(values: Values, target: string, { proto, proxyProtocol = 0, parse }: Published) {
  const { data } = values;
  const local = values.server === undefined ? findServer(data) : undefined;
  const server = values.server ?? local?.agentAddress;
  if (server === undefined) {
    throw new Failure(
      "usage",
      `no server: name one with --server HOST:PORT, or start one here with \`postern serve\` (its data directory would be "${data}", see --data)`,
    );
  }
  const token = values.authtoken ?? localAuthtoken(data);
  if (token === undefined) {
    throw new Failure("usage", "no agent token: give one with POSTERN_AUTHTOKEN or --token-file");
  }
  return {
    server: named("--server", () => parseServerAddress(server)),
    upstream: named(`"${target}"`, () => parse(target)),
    ca: trustedAuthorities(values.ca, data),
    token,
    metadata: values.metadata ?? "",
    proto,
    proxyProtocol,
    publish: publication(values.url, values.label, proto),
    trafficPolicy: policyOf(values),
    pooling: values.pooling,
    version: posternVersion(),
  } satisfies Partial<AgentOptions>;
}

async function requireService(upstream: Upstream): Promise<void> {
  try {
    await reachService(upstream);
  } catch (error) {
    throw new Failure("upstream", `the service at ${upstream.text} cannot be reached: ${describeLoss(error)}`, {
      cause: error,
    });
  }
}

function publication(url: string | undefined, labels: readonly string[], proto: PublishedProto): Publication {
  if (labels.length === 0) {
    if (url !== undefined) named("--url", () => placeOfUrl(url, proto));
    return { kind: "url", url };
  }
  if (url !== undefined)
    throw new Failure(
      "usage",
      "--url and --label exclude each other: a labelled tunnel has the addresses of the edges in front of it",
    );
  const pairs = labels.map((label) => {
    const at = label.indexOf("=");
    if (at < 1 || at === label.length - 1) throw new Failure("usage", `--label must be NAME=VALUE: "${label}"`);
    return [label.slice(0, at), label.slice(at + 1)] as const;
  });
  return { kind: "labels", labels: Object.fromEntries(pairs) };
}

/** The server checks it: what is wrong is told with its place when the agent connects. */
function policyOf({ trafficPolicyFile: file, pooling, label }: Values): string | undefined {
  if (label.length > 0 && (file !== undefined || pooling)) {
    const what = file === undefined ? "--pooling" : "--traffic-policy-file";
    throw new Failure("usage", `${what} and --label exclude each other: edges have policies and backends of their own`);
  }
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Failure("usage", `--traffic-policy-file: cannot read "${file}": ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function named<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Failure("usage", `${what} ${(error as Error).message}`, { cause: error });
  }
}
