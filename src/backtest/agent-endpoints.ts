/**
 * The endpoints that agents publish, compiled with one configuration. An agent's options are its own. The objects of the
 * account that its traffic policy names, and the account's restriction of sources, are those of the configuration.
 */
import { endpointAt } from "../edge/agents/opening/compile-endpoint.ts";
import type { EndpointOptions } from "../edge/agents/opening/compile-endpoint.ts";
import { Refusal } from "../lib/errors.ts";
import { endpointIdOf } from "../lib/ids.ts";
import type { AgentEndpoint } from "../routing/planes/edge-questions.ts";
import type { RoutingTable, Site } from "../routing/sites/compiled-site.ts";
import type { BindRequest } from "../tunnel/server-hooks.ts";

export interface AgentEndpointsOptions extends Pick<EndpointOptions, "modules" | "clock"> {
  readonly accountId: string;
  readonly endpoints: readonly AgentEndpoint[];
  readonly table: Pick<RoutingTable, "object" | "children" | "restriction">;
}

export class AgentEndpoints {
  readonly #options: AgentEndpointsOptions;
  readonly #byId = new Map<string, AgentEndpoint>();
  readonly #byHost = new Map<string, AgentEndpoint>();
  readonly #sites = new Map<AgentEndpoint, Site | undefined>();

  constructor(options: AgentEndpointsOptions) {
    this.#options = options;
    for (const endpoint of options.endpoints) {
      this.#byId.set(endpointIdOf(endpoint.tunnelId), endpoint);
      this.#byHost.set(endpoint.host, endpoint);
    }
  }

  /**
   * Returns the endpoint with the id at the host. An agent that was restarted has another id, so without one with the
   * id, returns the endpoint that serves the host now. Undefined if none does, or if it cannot exist with this
   * configuration.
   */
  find(host: string, id: string): Site | undefined {
    const own = this.#byId.get(id);
    const found = own && servesHost(own, host) ? own : (this.#byHost.get(host) ?? this.#byHost.get(wildcardOver(host)));
    if (found === undefined) return undefined;
    let site = this.#sites.get(found);
    if (site === undefined && !this.#sites.has(found)) this.#sites.set(found, (site = this.#compile(found)));
    return site;
  }

  /** Whether the site is one of these. */
  has({ id }: Pick<Site, "id">): boolean {
    return this.#byId.has(id);
  }

  #compile({ tunnelId: id, sessionId, credentialId, agentId, host, port, request }: AgentEndpoint): Site | undefined {
    const { accountId, table, ...rest } = this.#options;
    const asked = JSON.parse(request) as BindRequest;
    if (asked.proto !== "https" && asked.proto !== "http") return undefined;
    const options = {
      ...rest,
      table: {
        // Its options have not changed since the agent opened it, so every record of it shows their results.
        revision: 0,
        refuses: () => false,
        object: (kind: string, objectId: string) => table.object(kind, objectId),
        children: (kind: string, parentId: string, account: string) => table.children(kind, parentId, account),
        restriction: (account: string, part: "agent" | "endpoints") => table.restriction(account, part),
      },
    };
    const session = { id: sessionId, accountId, credentialId, agentId };
    try {
      const { site } = endpointAt({ host, port }, { session, id, request: asked }, options);
      return "findRoute" in site ? site : undefined;
    } catch (error) {
      // The edge closes an endpoint whose policy names an object that no longer exists.
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }
}

function servesHost({ host: own }: AgentEndpoint, host: string): boolean {
  return own === host || own === wildcardOver(host);
}

function wildcardOver(host: string): string {
  return `*${host.slice(Math.max(0, host.indexOf(".")))}`;
}
