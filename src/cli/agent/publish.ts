/** What the commands that publish have in common: their settings, and what an agent is made of from them. */
import { readFileSync } from "node:fs";
import { placeOfUrl } from "../../agent/publication.ts";
import type { PublishedProto, Publication } from "../../agent/publication.ts";
import type { TunnelOptions } from "../../agent/tunnel.ts";
import type { Upstream } from "../../agent/upstream.ts";
import { describeLoss } from "../../agent/end.ts";
import { reachService } from "../../agent/service-watch.ts";
import { startLocalProvider } from "./agent-logins.ts";
import { accessSettings, agentAccess } from "./agent-access.ts";
import { runAgent } from "./run-agent.ts";
import { Failure, named } from "../process/exit.ts";
import { logFormOf, openLog } from "../process/log-output.ts";
import type { ValuesOf } from "../../settings/setting.ts";
import { settings } from "../../settings/settings.ts";

export const agentSettings = {
  ...accessSettings,
  url: settings.url,
  label: settings.label,
  metadata: settings.metadata,
  trafficPolicyFile: settings.trafficPolicyFile,
  pooling: settings.pooling,
  requireUpstream: settings.requireUpstream,
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
  const access = agentAccess(values);
  const tunnel = tunnelOf(values, target, published);
  const log = openLog(logFormOf(values));
  if (values.requireUpstream) await requireService(tunnel.upstream);
  const sso = published.sso
    ? await startLocalProvider({ server: access.server, publish: tunnel.publish }, values.data, log)
    : undefined;
  try {
    return await runAgent({
      ...access,
      metadata: tunnel.metadata,
      tunnels: [{ ...tunnel, ...(sso && { publish: sso.publish }) }],
      retryFirst: false,
      log,
      form: values.json ? "json" : "text",
      screen: !values.json && published.proto === "https",
    });
  } finally {
    await sso?.stop();
  }
}

/** The tunnel that the flags describe. Throws `Failure` (usage). */
function tunnelOf(values: Values, target: string, { proto, proxyProtocol = 0, parse }: Published): TunnelOptions {
  return {
    name: "command_line",
    upstream: named(`"${target}"`, () => parse(target)),
    metadata: values.metadata ?? "",
    proto,
    proxyProtocol,
    publish: publication(values.url, values.label, proto),
    trafficPolicy: policyOf(values),
    pooling: values.pooling,
  };
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
