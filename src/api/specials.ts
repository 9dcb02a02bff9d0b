/** Resources that do more than their declaration says. */
import type { Special, Surroundings } from "./special/special.ts";
import { accountSpecial } from "./special/accounts.ts";
import { reservedAddrSpecial, tcpEdgeSpecial } from "./special/addresses.ts";
import { cloudEndpointSpecial } from "./special/cloud-endpoints.ts";
import { hostportsSpecial, reservedDomainSpecial } from "./special/domains.ts";
import { eventDestinationSpecial, eventSubscriptionSpecial } from "./events/specials.ts";
import { routeSpecial } from "./special/routes.ts";
import { secretSpecial } from "./special/secrets.ts";
import { checkCarriesConnections, nestedBackendSpecial } from "./special/nesting.ts";
import { staticBackendSpecial } from "./special/static-backends.ts";
import { apiKeySpecial, credentialSpecial } from "./special/tokens.ts";
import { checkNotShutOut } from "./http/source-restriction.ts";

export function makeSpecials(surroundings: Surroundings): Readonly<Record<string, Special>> {
  const { liveObjects } = surroundings;
  const labelsOf = (doc: Readonly<Record<string, unknown>>) => doc["labels"] as Readonly<Record<string, string>>;
  const reserving = hostportsSpecial(surroundings);
  return {
    account: accountSpecial,
    api_key: apiKeySpecial(surroundings),
    credential: credentialSpecial(surroundings),
    https_edge: reserving,
    https_edge_route: routeSpecial(surroundings),
    tls_edge: {
      prepare(input) {
        checkCarriesConnections(input.draft, input);
        return reserving.prepare(input);
      },
    },
    tcp_edge: tcpEdgeSpecial(surroundings),
    cloud_endpoint: cloudEndpointSpecial(surroundings),
    reserved_addr: reservedAddrSpecial(surroundings),
    failover_backend: nestedBackendSpecial,
    weighted_backend: nestedBackendSpecial,
    ip_restriction: {
      prepare({ draft, accountId, doc, source }) {
        checkNotShutOut(draft, accountId, doc, source);
        return { doc };
      },
    },
    tls_certificate: { configured: (doc) => (doc["issued_at"] === null ? doc : undefined) },
    secret: secretSpecial,
    event_destination: eventDestinationSpecial(surroundings),
    event_subscription: eventSubscriptionSpecial(surroundings),
    application_session: {
      live: ({ doc }) => ({ edge: doc["edge_id"] || null, route: doc["route_id"] || null, endpoint: null }),
    },
    reserved_domain: reservedDomainSpecial(surroundings),
    static_backend: staticBackendSpecial(surroundings),
    tunnel_group_backend: {
      live: ({ account_id, doc }) => ({ tunnels: liveObjects.matchingTunnels(account_id, labelsOf(doc)) }),
    },
    tunnel: {
      live: ({ account_id, doc }) => ({ backends: liveObjects.matchingBackends(account_id, labelsOf(doc)) }),
    },
  };
}
