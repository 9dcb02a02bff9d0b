/** Resources that do more than their declaration says. */
import type { Behaviour, Surroundings } from "./objects/behaviour.ts";
import { accountBehaviour } from "./behaviours/accounts.ts";
import { reservedAddrBehaviour, tcpEdgeBehaviour } from "./behaviours/addresses.ts";
import { cloudEndpointBehaviour } from "./behaviours/cloud-endpoints.ts";
import { hostportsBehaviour, reservedDomainBehaviour } from "./behaviours/domains.ts";
import { eventDestinationBehaviour, eventSubscriptionBehaviour } from "./behaviours/events.ts";
import { routeBehaviour } from "./behaviours/routes.ts";
import { secretBehaviour } from "./behaviours/secrets.ts";
import { checkCarriesConnections, nestedBackendBehaviour } from "./behaviours/nesting.ts";
import { staticBackendBehaviour } from "./behaviours/static-backends.ts";
import { apiKeyBehaviour, credentialBehaviour } from "./behaviours/tokens.ts";
import { checkNotShutOut } from "./http/source-restriction.ts";

export function makeBehaviours(surroundings: Surroundings): Readonly<Record<string, Behaviour>> {
  const { liveObjects } = surroundings;
  const labelsOf = (doc: Readonly<Record<string, unknown>>) => doc["labels"] as Readonly<Record<string, string>>;
  const reserving = hostportsBehaviour(surroundings);
  return {
    account: accountBehaviour,
    api_key: apiKeyBehaviour(surroundings),
    credential: credentialBehaviour(surroundings),
    https_edge: reserving,
    https_edge_route: routeBehaviour(surroundings),
    tls_edge: {
      prepare(input) {
        checkCarriesConnections(input.draft, input);
        return reserving.prepare(input);
      },
    },
    tcp_edge: tcpEdgeBehaviour(surroundings),
    cloud_endpoint: cloudEndpointBehaviour(surroundings),
    reserved_addr: reservedAddrBehaviour(surroundings),
    failover_backend: nestedBackendBehaviour,
    weighted_backend: nestedBackendBehaviour,
    ip_restriction: {
      prepare({ draft, accountId, doc, source }) {
        checkNotShutOut(draft, accountId, doc, source);
        return { doc };
      },
    },
    tls_certificate: { configured: (doc) => (doc["issued_at"] === null ? doc : undefined) },
    secret: secretBehaviour,
    event_destination: eventDestinationBehaviour(surroundings),
    event_subscription: eventSubscriptionBehaviour(surroundings),
    application_session: {
      live: ({ doc }) => ({ edge: doc["edge_id"] || null, route: doc["route_id"] || null, endpoint: null }),
    },
    reserved_domain: reservedDomainBehaviour(surroundings),
    static_backend: staticBackendBehaviour(surroundings),
    tunnel_group_backend: {
      live: ({ account_id, doc }) => ({ tunnels: liveObjects.matchingTunnels(account_id, labelsOf(doc)) }),
    },
    tunnel: {
      live: ({ account_id, doc }) => ({ backends: liveObjects.matchingBackends(account_id, labelsOf(doc)) }),
    },
  };
}
