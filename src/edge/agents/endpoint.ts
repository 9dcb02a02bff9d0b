/** An agent's endpoint as a site: one host, one route for everything, one tunnel behind it. */
import { passed } from "../../modules/step.ts";
import type { CompiledModule } from "../../modules/module.ts";
import type { CompiledRoute, Site } from "../../routing/compiled.ts";

export interface EndpointSiteOptions {
  readonly endpointId: string;
  readonly tunnelId: string;
  readonly accountId: string;
  readonly host: string;
  /** Revision of the configuration when the tunnel was opened. */
  readonly revision: number;
  /** In traffic order. */
  readonly modules: readonly CompiledModule[];
}

/** @returns a site that never changes: a change of the tunnel is a new one */
export function endpointSite(options: EndpointSiteOptions): Site {
  const { endpointId, tunnelId, accountId, host, revision, modules } = options;
  const decidedBy = { kind: "endpoint", id: endpointId, revision };
  const route: CompiledRoute = Object.freeze({
    id: endpointId,
    revision,
    matched: passed("router", `endpoint of tunnel ${tunnelId}`, decidedBy),
    problem: undefined,
    request: modules.filter((module) => module.request !== undefined),
    response: modules.filter((module) => module.response !== undefined),
    settled: modules.filter((module) => module.settled !== undefined),
    upstream: Object.freeze({ kind: "tunnel" as const, id: tunnelId }),
  });
  return Object.freeze({
    kind: "endpoint" as const,
    id: endpointId,
    accountId,
    revision,
    hosts: Object.freeze([host]),
    handshake: Object.freeze({}),
    problem: undefined,
    findRoute: () => route,
  });
}
