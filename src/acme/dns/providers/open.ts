/** All DNS providers, and the check of the settings for the chosen one. */
import type { Clock } from "../../../lib/clock.ts";
import type { DnsProviderName } from "../provider-names.ts";
import type { DnsProvider, ProviderAccess, ProviderKind } from "../dns-provider.ts";
import { acmeDns } from "./acme-dns.ts";
import { cloudflare } from "./cloudflare.ts";
import { digitalocean } from "./digitalocean.ts";
import { exec } from "./exec.ts";
import { gandi } from "./gandi.ts";
import { hetzner } from "./hetzner.ts";
import { rfc2136 } from "./rfc2136.ts";
import { route53 } from "./route53.ts";
import { webhook } from "./webhook.ts";

const providers: Readonly<Record<DnsProviderName, ProviderKind>> = {
  "acme-dns": acmeDns,
  cloudflare,
  digitalocean,
  exec,
  gandi,
  hetzner,
  rfc2136,
  route53,
  webhook,
};

/** @throws Error if a setting is missing, wrong, or without effect for this provider */
export function openDnsProvider(name: DnsProviderName, access: ProviderAccess, clock: Clock): DnsProvider {
  const kind = providers[name];
  const used = [...kind.needs, ...kind.takes];
  const missing = kind.needs.filter((one) => access[one] === undefined);
  if (missing.length > 0) throw new Error(`--acme-dns-provider ${name} needs ${renderFlags(missing)}`);
  const setMembers = (Object.keys(access) as (keyof ProviderAccess)[]).filter((one) => access[one] !== undefined);
  const idle = setMembers.filter((one) => !used.includes(one));
  if (idle.length > 0) {
    throw new Error(
      `--acme-dns-provider ${name} does not use ${renderFlags(idle)}: remove it. It uses ${renderFlags(used)}`,
    );
  }
  return kind.open(access, clock);
}

function renderFlags(members: readonly string[]): string {
  return members.map((one) => `--acme-dns-${one}`).join(", ");
}
