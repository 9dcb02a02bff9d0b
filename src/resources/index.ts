/** Every resource of the API. Storage, routes, OpenAPI and SDK are derived from this list. */
import type { ResourceDeclaration } from "../schema/resource.ts";
import { account } from "./account.ts";
import { acmeAccount } from "./acme-account.ts";
import { acmeChallenge } from "./acme-challenge.ts";
import { agentInvitation } from "./agent-invitation.ts";
import { apiKey } from "./api-key.ts";
import { applicationSession } from "./application-session.ts";
import { applicationUser } from "./application-user.ts";
import { botUser } from "./bot-user.ts";
import { certificateAuthority } from "./certificate-authority.ts";
import { certificateJob } from "./certificate-job.ts";
import { cloudEndpoint } from "./cloud-endpoint.ts";
import { clusterKey } from "./cluster-key.ts";
import { firstToken } from "./first-token.ts";
import { consoleCode } from "./console-code.ts";
import { consoleCheck } from "./console-check.ts";
import { consoleSession } from "./console-session.ts";
import { credential } from "./credential.ts";
import { withDocumentKeys } from "./document-key.ts";
import { endpoint } from "./endpoint.ts";
import { eventDestination } from "./event-destination.ts";
import { eventSubscription } from "./event-subscription.ts";
import { failoverBackend } from "./failover-backend.ts";
import { httpResponseBackend } from "./http-response-backend.ts";
import { httpsEdgeRoute } from "./https-edge-route.ts";
import { httpsEdge } from "./https-edge.ts";
import { ipPolicyRule } from "./ip-policy-rule.ts";
import { ipPolicy } from "./ip-policy.ts";
import { ipRestriction } from "./ip-restriction.ts";
import { lastUse } from "./last-use.ts";
import { loginKey } from "./login-key.ts";
import { reservedAddr } from "./reserved-addr.ts";
import { reservedDomain } from "./reserved-domain.ts";
import { passkey } from "./passkey.ts";
import { personInvitation } from "./person-invitation.ts";
import { person } from "./person.ts";
import { samlMetadata } from "./saml-metadata.ts";
import { serviceToken } from "./service-token.ts";
import { secret } from "./secret.ts";
import { sshCertificateAuthority } from "./ssh-certificate-authority.ts";
import { sshCredential } from "./ssh-credential.ts";
import { staticBackend } from "./static-backend.ts";
import { tcpEdge } from "./tcp-edge.ts";
import { tlsCertificate } from "./tls-certificate.ts";
import { tlsEdge } from "./tls-edge.ts";
import { tunnelGroupBackend } from "./tunnel-group-backend.ts";
import { node } from "./node.ts";
import { tunnelSession } from "./tunnel-session.ts";
import { tunnel } from "./tunnel.ts";
import { usedMessage } from "./used-message.ts";
import { vault } from "./vault.ts";
import { weightedBackend } from "./weighted-backend.ts";

export const resources: readonly ResourceDeclaration[] = withDocumentKeys([
  account,
  botUser,
  apiKey,
  person,
  passkey,
  personInvitation,
  consoleSession,
  consoleCheck,
  consoleCode,
  credential,
  sshCredential,
  sshCertificateAuthority,
  agentInvitation,
  ipPolicy,
  ipPolicyRule,
  ipRestriction,
  certificateAuthority,
  tlsCertificate,
  reservedDomain,
  certificateJob,
  acmeAccount,
  acmeChallenge,
  loginKey,
  clusterKey,
  firstToken,
  reservedAddr,
  tunnelGroupBackend,
  failoverBackend,
  weightedBackend,
  httpResponseBackend,
  staticBackend,
  httpsEdge,
  httpsEdgeRoute,
  tlsEdge,
  tcpEdge,
  vault,
  secret,
  eventDestination,
  eventSubscription,
  applicationUser,
  applicationSession,
  serviceToken,
  usedMessage,
  lastUse,
  samlMetadata,
  tunnelSession,
  node,
  tunnel,
  endpoint,
  cloudEndpoint,
]);
