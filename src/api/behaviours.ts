/** Resources with behaviour beyond their declaration, and the dependencies of each. */
import { accountBehaviour } from "./behaviours/accounts.ts";
import { agentInvitationBehaviour } from "./behaviours/agent-invitations.ts";
import type { InvitationRules } from "./behaviours/agent-invitations.ts";
import { reservedAddrBehaviour, tcpEdgeBehaviour } from "./behaviours/reserved-addresses.ts";
import type { AddressPool } from "./behaviours/reserved-addresses.ts";
import { certificateBehaviour } from "./behaviours/certificate-behaviour.ts";
import { cloudEndpointBehaviour } from "./behaviours/cloud-endpoints.ts";
import type { CloudEndpointRules } from "./behaviours/cloud-endpoints.ts";
import { httpsEdgeBehaviour, reservedDomainBehaviour, tlsEdgeBehaviour } from "./behaviours/domains.ts";
import type { DomainRules } from "./behaviours/domains.ts";
import { eventDestinationBehaviour, eventSubscriptionBehaviour } from "./behaviours/events.ts";
import type { EventRules } from "./behaviours/events.ts";
import { ipRestrictionBehaviour } from "./behaviours/ip-restrictions.ts";
import { applicationSessionBehaviour, tunnelBehaviour, tunnelGroupBackendBehaviour } from "./behaviours/live-links.ts";
import type { LoginUrlRules } from "./behaviours/login-urls.ts";
import { failoverBackendBehaviour, weightedBackendBehaviour } from "./behaviours/nesting.ts";
import { passkeyBehaviour, personBehaviour, personInvitationBehaviour } from "./behaviours/people.ts";
import type { PeopleRules } from "./behaviours/people.ts";
import { routeBehaviour } from "./behaviours/routes.ts";
import { secretBehaviour } from "./behaviours/secrets.ts";
import { staticBackendBehaviour } from "./behaviours/static-backends.ts";
import type { UpstreamRules } from "./behaviours/static-backends.ts";
import { apiKeyBehaviour, credentialBehaviour, serviceTokenBehaviour } from "./behaviours/tokens.ts";
import type { TokenRules } from "./behaviours/tokens.ts";
import type { LiveObjects } from "./edges/live-objects.ts";
import type { Behaviours } from "./objects/behaviour.ts";

/** All their dependencies together. */
export interface BehaviourNeeds
  extends
    AddressPool,
    CloudEndpointRules,
    DomainRules,
    EventRules,
    InvitationRules,
    PeopleRules,
    TokenRules,
    UpstreamRules {
  readonly liveObjects: LiveObjects;
  readonly loginIssuer: LoginUrlRules["loginIssuer"];
}

export function makeBehaviours(parts: BehaviourNeeds): Behaviours {
  return Object.fromEntries([
    accountBehaviour,
    apiKeyBehaviour(parts),
    credentialBehaviour(parts),
    serviceTokenBehaviour(parts),
    agentInvitationBehaviour(parts),
    personBehaviour,
    passkeyBehaviour,
    personInvitationBehaviour(parts),
    ipRestrictionBehaviour,
    certificateBehaviour,
    reservedDomainBehaviour(parts),
    reservedAddrBehaviour(parts),
    tunnelGroupBackendBehaviour(parts),
    failoverBackendBehaviour,
    weightedBackendBehaviour,
    staticBackendBehaviour(parts),
    httpsEdgeBehaviour(parts),
    routeBehaviour(parts),
    tlsEdgeBehaviour(parts),
    tcpEdgeBehaviour(parts),
    secretBehaviour,
    eventDestinationBehaviour(parts),
    eventSubscriptionBehaviour(parts),
    applicationSessionBehaviour,
    tunnelBehaviour(parts),
    cloudEndpointBehaviour(parts),
  ]);
}
