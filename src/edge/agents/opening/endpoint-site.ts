/** An agent's endpoint as a site: one host, one tunnel, and either one route or whole connections. */
import type { CaptureSetting } from "../../../capture/rule.ts";
import { isInternalKey } from "../../../lib/internal-names.ts";
import { passStep, skipStep } from "../../../traffic/step.ts";
import type { Handshake } from "../../../traffic/handshake.ts";
import type { CompiledModule } from "../../../traffic/module.ts";
import type { Step } from "../../../traffic/step.ts";
import type { Beside, UpstreamPlan } from "../../../traffic/upstream-plan.ts";
import type { CompiledRoute, ConnectionSite, Site } from "../../../routing/sites/compiled-site.ts";
import type { Termination } from "./termination.ts";

export interface EndpointSiteOptions {
  readonly endpointId: string;
  readonly tunnelId: string;
  readonly accountId: string;
  readonly host: string;
  /** Revision of the configuration when the tunnel was opened. */
  readonly revision: number;
  /** See `CompiledRoute`. */
  readonly mark: number;
  /** In traffic order. */
  readonly modules: readonly CompiledModule[];
  /** Tunnels that may share its URL and replace its own. Undefined if none may. */
  readonly beside: Beside | undefined;
  /** Mark of the agent, see `markOfTunnel`. */
  readonly agentMark: string;
  /** Returns the current restriction of sources for the account's endpoints. Undefined without a restriction. */
  readonly restriction: () => ((source: string) => Step) | undefined;
  /** How requests are captured, if the agent asked for it. */
  readonly capture?: CaptureSetting | undefined;
}

/**
 * Like `endpointSite`, for whole connections. TLS is passed through for the agent's service to terminate, unless the
 * agent requests termination here.
 */
export function connectionEndpoint(
  options: EndpointSiteOptions,
  proto: "tls" | "tcp",
  port: number,
  termination?: Termination,
): ConnectionSite {
  const { endpointId, accountId, host, revision, mark, modules, restriction } = options;
  return Object.freeze({
    kind: `${proto}_endpoint` as const,
    id: endpointId,
    accountId,
    revision,
    mark,
    hostports: Object.freeze([`${host}:${port}`]),
    hosts: Object.freeze([host]),
    ports: Object.freeze(isInternalKey(host) ? [] : [port]),
    handshake: proto === "tls" && !termination ? passthrough : handshakeOf(modules),
    certificate: termination?.certificate,
    pooled: options.beside !== undefined,
    problem: undefined,
    connection: [
      { connection: (source: string) => restriction()?.(source) ?? lifted },
      ...modules.filter((module) => module.connection !== undefined || module.opened !== undefined),
    ],
    upstream: planOf(options),
  });
}

/**
 * @returns a site that never changes, except for its account's restriction. A change of the tunnel creates a new site
 */
export function endpointSite(options: EndpointSiteOptions, advertisedPort: number): Site {
  const { endpointId, tunnelId, accountId, host, revision, mark, modules, restriction, capture } = options;
  const decidedBy = { kind: "endpoint", id: endpointId, revision };
  const route: CompiledRoute = Object.freeze({
    id: endpointId,
    revision,
    mark,
    matched: passStep("router", `endpoint of tunnel ${tunnelId}`, decidedBy),
    problem: undefined,
    request: modules.filter((module) => module.request !== undefined),
    response: modules.filter((module) => module.response !== undefined),
    settled: modules.filter((module) => module.settled !== undefined),
    upstream: planOf(options),
    capture,
    converter: modules.find((module) => module.converter !== undefined)?.converter,
    allowsEncodedSlashes: modules.some((module) => module.allowsEncodedSlashes === true),
    responseTimeoutMs: modules.find((module) => module.responseTimeoutMs !== undefined)?.responseTimeoutMs,
  });
  const restricted: CompiledRoute = Object.freeze({
    ...route,
    request: [{ request: ({ connection }) => restriction()?.(connection.source) ?? lifted }, ...route.request],
  });
  return Object.freeze({
    kind: "endpoint" as const,
    id: endpointId,
    accountId,
    revision,
    hosts: Object.freeze([host]),
    pooled: options.beside !== undefined,
    sessionMark: modules.some(({ keepsMcpSessions }) => keepsMcpSessions === true) ? options.agentMark : undefined,
    handshake: handshakeOf(modules),
    problem: undefined,
    logins: Object.freeze(modules.flatMap(({ logins = [] }) => logins)),
    findRoute: () => (restriction() === undefined ? route : restricted),
    tellsPathsApart: () => false,
    advertises: (_host: string, port: number) => port === advertisedPort,
  });
}

function planOf({ tunnelId: id, beside }: EndpointSiteOptions): UpstreamPlan {
  return Object.freeze({ kind: "tunnel", id, ...(beside && { beside }) });
}

const passthrough: Handshake = Object.freeze({ passthrough: true });

function handshakeOf(modules: readonly CompiledModule[]): Handshake {
  return Object.freeze(Object.assign({}, ...modules.map(({ handshake }) => handshake)) as Handshake);
}

const lifted = skipStep("ip_restriction", "the account's restriction was removed in the meantime");
