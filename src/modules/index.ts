/** Every module, in the order in which they act on traffic (semantics, "Order on traffic"). This list is the order. */
import { defaultsOf } from "../settings/setting.ts";
import { webhookSettings } from "../settings/webhooks.ts";
import type { WebhookSettings } from "../settings/webhooks.ts";
import { backend } from "./backend.ts";
import { circuitBreaker } from "./circuit-breaker.ts";
import { compression } from "./compression.ts";
import { ipRestriction } from "./ip-restriction.ts";
import type { Logins } from "../identity/engine.ts";
import type { ModuleDeclaration } from "../traffic/module.ts";
import { mutualTls } from "./mutual-tls.ts";
import { oauthWith } from "./oauth.ts";
import { oidcWith } from "./oidc.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";
import { saml } from "./saml.ts";
import { tlsTermination } from "./tls-termination.ts";
import { defaultPolicyServices } from "../policy/language/context.ts";
import type { PolicyServices } from "../policy/language/context.ts";
import { openOutside } from "../policy/parts/outside.ts";
import { trafficPolicyWith } from "./traffic-policy.ts";
import { userAgentFilter } from "./user-agent-filter.ts";
import { webhookVerificationWith } from "./webhook-verification.ts";
import { websocketTcpConverter } from "./websocket-tcp-converter.ts";

export const modules: readonly ModuleDeclaration[] = modulesWith(defaultsOf(webhookSettings));

/**
 * The modules as an edge runs them, by what its operator has set.
 *
 * @param own what only a running edge has. Without `logins` nobody can log in: such routes are closed
 */
export function modulesWith(
  webhooks: WebhookSettings,
  { logins, policies }: { readonly logins?: Logins; readonly policies?: Partial<PolicyServices> } = {},
): readonly ModuleDeclaration[] {
  return [
    tlsTermination,
    mutualTls,
    ipRestriction,
    userAgentFilter,
    webhookVerificationWith(webhooks),
    oauthWith(logins),
    oidcWith(logins),
    saml,
    trafficPolicyWith({ ...defaultPolicyServices, webhookBytes: webhooks.webhookMaxBytes, ...policies }),
    circuitBreaker,
    websocketTcpConverter,
    requestHeaders,
    backend,
    compression,
    responseHeaders,
  ] as unknown as readonly ModuleDeclaration[];
}

export { defaultPolicyServices, openOutside };
export type { PolicyServices };
