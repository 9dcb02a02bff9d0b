/** Every module, in the order in which they act on traffic (semantics, "Order on traffic"). This list is the order. */
import { backend } from "./backend.ts";
import { circuitBreaker } from "./circuit-breaker.ts";
import { compression } from "./compression.ts";
import { ipRestriction } from "./ip-restriction.ts";
import type { ModuleDeclaration } from "../traffic/module.ts";
import { mutualTls } from "./mutual-tls.ts";
import { oauth } from "./oauth.ts";
import { oidc } from "./oidc.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";
import { saml } from "./saml.ts";
import { tlsTermination } from "./tls-termination.ts";
import { defaultPolicyServices } from "../policy/context.ts";
import type { PolicyServices } from "../policy/context.ts";
import { trafficPolicyWith } from "./traffic-policy.ts";
import { userAgentFilter } from "./user-agent-filter.ts";
import { defaultWebhookSettings } from "../traffic/parts/webhook-check.ts";
import type { WebhookSettings } from "../traffic/parts/webhook-check.ts";
import { webhookVerificationWith } from "./webhook-verification.ts";
import { websocketTcpConverter } from "./websocket-tcp-converter.ts";

export const modules: readonly ModuleDeclaration[] = modulesWith({
  webhooks: defaultWebhookSettings,
  policies: defaultPolicyServices,
});

/** What the operator of an edge decides about modules. */
export interface ModuleSettings {
  readonly webhooks: WebhookSettings;
  readonly policies: PolicyServices;
}

/** The modules as an edge runs them. */
export function modulesWith({ webhooks, policies }: ModuleSettings): readonly ModuleDeclaration[] {
  return [
    tlsTermination,
    mutualTls,
    ipRestriction,
    userAgentFilter,
    webhookVerificationWith(webhooks),
    oauth,
    oidc,
    saml,
    trafficPolicyWith(policies),
    circuitBreaker,
    websocketTcpConverter,
    requestHeaders,
    backend,
    compression,
    responseHeaders,
  ] as unknown as readonly ModuleDeclaration[];
}

export { defaultPolicyServices };
export type { PolicyServices };
