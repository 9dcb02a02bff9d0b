import type { ManagedApps } from "../settings/kinds/oauth-apps.ts";
import type { WebhookSettings } from "../settings/webhooks.ts";

/** Settings of the server on which decisions about requests depend. Plain data. */
export interface BacktestSettings extends WebhookSettings {
  readonly policyExpressionErrors: "no_match" | "refuse";
  readonly policyRateKeys: number;
  readonly allowEncodedSlashes: boolean;
  /** Port in public HTTPS URLs. */
  readonly httpsPort: number;
  /** Whether a Host may name the scheme's default port although no site advertises it. */
  readonly takesDefaultPorts: boolean;
  readonly idpHost: string;
  readonly oauthApps?: ManagedApps | undefined;
  readonly allowLocalUpstreams: boolean;
  readonly loginIssuer: readonly string[];
  readonly loginMaxSessions: number;
  readonly loginIdleDays: number;
  readonly clockSkew: number;
  readonly oidcSharedCallback: boolean;
}
