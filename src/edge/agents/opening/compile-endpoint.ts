/** Compiles the endpoint that an agent asked for. */
import type { Clock } from "../../../lib/clock.ts";
import { Refusal } from "../../../lib/errors.ts";
import { endpointIdOf } from "../../../lib/ids.ts";
import { internalNameOf, isInternalKey } from "../../../lib/internal-names.ts";
import { nameOf } from "../../../lib/plain-names.ts";
import { markOf } from "../../../lib/work-mark.ts";
import type { RoutingTable } from "../../../routing/sites/compiled-site.ts";
import type { ModulePlace } from "../../../schema/object.ts";
import type { ModuleDeclaration } from "../../../traffic/module.ts";
import type { AgentSession, BindRequest } from "../../../tunnel/server-hooks.ts";
import { markOfTunnel } from "../tunnels/tunnel-mark.ts";
import type { Endpoint, EndpointProto } from "../tunnels/tunnel.ts";
import { AccountObjects } from "./account-objects.ts";
import { readCapture } from "./capture-option.ts";
import { companyOf } from "./company.ts";
import type { PublicPlace } from "./endpoint-places.ts";
import { connectionEndpoint, endpointSite } from "./endpoint-site.ts";
import type { EndpointSiteOptions } from "./endpoint-site.ts";
import { compileOptions, likenessOf } from "./option-translations.ts";
import { readTermination } from "./termination.ts";

export interface EndpointOptions {
  /** In the order in which this edge runs them. */
  readonly modules: readonly ModuleDeclaration[];
  readonly table: Pick<RoutingTable, "revision" | "object" | "children" | "refuses" | "restriction">;
  readonly clock: Clock;
}

/** What the agent asked for, in its session. */
export interface EndpointAsked {
  readonly session: Pick<AgentSession, "id" | "accountId" | "credentialId" | "agentId">;
  /** Id of the tunnel. */
  readonly id: string;
  readonly request: BindRequest;
}

/** Returns the endpoint at a place. Throws `Refusal` for options that it cannot have. */
export function endpointAt(
  { host, port }: PublicPlace,
  { session, id, request }: EndpointAsked,
  options: EndpointOptions,
): Endpoint {
  const { clock, modules, table } = options;
  const { accountId } = session;
  const { proto } = request;
  const endpointId = endpointIdOf(id);
  const termination = proto === "tls" ? readTermination(request.options) : undefined;
  const named = new AccountObjects(table, accountId);
  const compiled = compileOptions(
    request.options,
    { accountId, endpointId, host, clock, named, places: placesOf[proto] },
    modules,
  );
  if (proto === "tls" && !termination && compiled.some(({ handshake }) => handshake !== undefined)) {
    throw new Refusal(
      "agent_request_invalid",
      "request client certificates: this endpoint passes TLS through to the service; terminate TLS here (TLSTermination)",
    );
  }
  if (termination && compiled.some(({ endsTls }) => endsTls === true)) {
    const message = "terminate TLS with a rule of the traffic policy: the option TLSTermination already terminates it";
    throw new Refusal("agent_policy_invalid", message);
  }
  if (isInternalKey(host) && compiled.some(({ logins }) => logins !== undefined)) {
    const message = `publish "${proto}://${internalNameOf(host)}" with a login: configure the login at the public endpoint`;
    throw new Refusal("agent_option_unsupported", message);
  }
  if (proto === "http" && compiled.some(({ logins }) => logins !== undefined)) {
    throw new Refusal("agent_option_unsupported", `publish "http://${host}" with a login: logins need HTTPS`);
  }
  const company = companyOf(session, request);
  const mark = markOf(accountId, proto, host, likenessOf(proto, request.options));
  if (table.refuses(mark)) {
    const why = `publish "${host}": these options blocked a thread of the server, which was stopped; change the traffic policy`;
    throw new Refusal("agent_policy_invalid", why);
  }
  const beside = company && { name: nameOf(proto, host), likeness: likenessOf(proto, request.options) };
  const site: EndpointSiteOptions = {
    endpointId,
    tunnelId: id,
    accountId,
    host,
    revision: table.revision,
    mark,
    modules: compiled,
    beside,
    agentMark: markOfTunnel({ session }),
    restriction: () => table.restriction(accountId, "endpoints"),
    capture: proto === "https" || proto === "http" ? readCapture(request.options) : undefined,
  };
  return {
    id: endpointId,
    proto,
    host,
    port,
    name: request.name ?? "",
    description: request.description ?? "",
    url: `${proto}://${internalNameOf(host)}${port === usualPort[proto] ? "" : `:${port}`}`,
    site:
      proto === "tls" || proto === "tcp"
        ? connectionEndpoint(site, proto, port, termination)
        : endpointSite(site, port),
    beside,
    company,
    renewed: () => (named.isCurrent() ? undefined : endpointAt({ host, port }, { session, id, request }, options)),
  };
}

/** Places whose modules an endpoint may have: an endpoint is an edge and its route in one. */
export const placesOf = {
  https: ["https_route", "https_edge"],
  // The other modules of an edge are about TLS.
  http: ["https_route"],
  tls: ["tls_edge"],
  tcp: ["tcp_edge"],
} as const satisfies Record<EndpointProto, readonly ModulePlace[]>;

/** Ports that a URL omits. */
const usualPort: Readonly<Record<EndpointProto, number | undefined>> = {
  https: 443,
  http: 80,
  tls: 443,
  tcp: undefined,
};
