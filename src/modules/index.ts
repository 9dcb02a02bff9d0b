/**
 * All modules in the order in which they act on traffic (semantics, "Order on traffic"). This list defines the order.
 */
import { defaultsOf } from "../settings/setting.ts";
import { webhookSettings } from "../settings/webhooks.ts";
import type { WebhookSettings } from "../settings/webhooks.ts";
import { backend } from "./backend.ts";
import { circuitBreaker } from "./circuit-breaker.ts";
import { compression } from "./compression.ts";
import { countryRestrictionWith } from "./country-restriction.ts";
import { forwarding } from "./forwarding.ts";
import { inboxWith } from "./inbox.ts";
import { ipRestriction } from "./ip-restriction.ts";
import { unknownAddresses } from "../geo/address-book.ts";
import type { AddressFacts } from "../geo/address-book.ts";
import type { Logins } from "../identity/login-engine.ts";
import type { SamlLogins } from "../identity/saml-login/saml-logins.ts";
import type { Inbox } from "../traffic/stored-request.ts";
import type { ModuleDeclaration } from "../traffic/module.ts";
import { mcp } from "./mcp.ts";
import { mutualTls } from "./mutual-tls.ts";
import { oauthWith } from "./oauth.ts";
import { oidcWith } from "./oidc.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";
import { samlWith } from "./saml.ts";
import { tlsTermination } from "./tls-termination.ts";
import { defaultPolicyServices } from "../policy/language/policy-context.ts";
import type { PolicyServices } from "../policy/language/policy-context.ts";
import { WindowPool } from "../policy/language/window-pool.ts";
import { openOutside } from "../policy/parts/outside.ts";
import { trafficPolicyWith } from "./traffic-policy.ts";
import { userAgentFilter } from "./user-agent-filter.ts";
import { webhookVerificationWith } from "./webhook-verification.ts";
import { websocketTcpConverter } from "./websocket-tcp-converter.ts";

export const modules: readonly ModuleDeclaration[] = modulesWith(defaultsOf(webhookSettings));

export interface OwnParts {
  readonly logins?: Logins;
  readonly saml?: SamlLogins;
  readonly policies?: Partial<PolicyServices>;
  readonly inbox?: Inbox;
  readonly addresses?: AddressFacts;
}

/**
 * Returns the modules with the operator's settings.
 *
 * @param own dependencies that only a running edge has. Without `logins`, routes with a login are closed; without
 * `saml`, routes with a SAML login are closed; without `inbox`, routes with an inbox answer 503; without `addresses`, locations are unknown
 */
export function modulesWith(
  webhooks: WebhookSettings,
  { logins, saml, policies, inbox, addresses = unknownAddresses }: OwnParts = {},
): readonly ModuleDeclaration[] {
  return [
    tlsTermination,
    mutualTls,
    ipRestriction,
    countryRestrictionWith(addresses),
    userAgentFilter,
    webhookVerificationWith(webhooks),
    oauthWith(logins),
    oidcWith(logins),
    samlWith(logins, saml),
    trafficPolicyWith(
      {
        ...defaultPolicyServices,
        webhookBytes: webhooks.webhookMaxBytes,
        webhookRefuseReplays: webhooks.webhookRefuseReplays,
        wantAddresses: () => addresses.want(),
        ...policies,
      },
      logins,
      saml,
    ),
    inboxWith(inbox),
    circuitBreaker,
    websocketTcpConverter,
    requestHeaders,
    forwarding,
    mcp,
    backend,
    compression,
    responseHeaders,
  ] as unknown as readonly ModuleDeclaration[];
}

export { defaultPolicyServices, openOutside, WindowPool };
