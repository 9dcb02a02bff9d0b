/** Every resource of the API. This list is what exists: storage, routes, OpenAPI and SDK are read from it. */
import type { ResourceDeclaration } from "../schema/resource.ts";
import { account } from "./account.ts";
import { apiKey } from "./api-key.ts";
import { botUser } from "./bot-user.ts";
import { credential } from "./credential.ts";
import { endpoint } from "./endpoint.ts";
import { httpsEdgeRoute } from "./https-edge-route.ts";
import { httpsEdge } from "./https-edge.ts";
import { ipPolicyRule } from "./ip-policy-rule.ts";
import { ipPolicy } from "./ip-policy.ts";
import { reservedDomain } from "./reserved-domain.ts";
import { tunnelGroupBackend } from "./tunnel-group-backend.ts";
import { tunnelSession } from "./tunnel-session.ts";
import { tunnel } from "./tunnel.ts";

export const resources: readonly ResourceDeclaration[] = [
  account,
  botUser,
  apiKey,
  credential,
  ipPolicy,
  ipPolicyRule,
  reservedDomain,
  tunnelGroupBackend,
  httpsEdge,
  httpsEdgeRoute,
  tunnelSession,
  tunnel,
  endpoint,
];
