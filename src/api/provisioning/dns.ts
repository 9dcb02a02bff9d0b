/** DNS checks as the operator's settings define them. */
import { makeDnsChallenges } from "../../acme/dns/challenges.ts";
import type { DnsChallenges } from "../../acme/dns/challenges.ts";
import { makeDnsLookups } from "../../acme/dns/lookups.ts";
import { openDnsProvider } from "../../acme/dns/providers/open.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AcmeSettings } from "../../settings/acme.ts";

/** Returns undefined without a provider. @throws Error if the settings contradict each other */
export function openDnsChallenges(
  settings: AcmeSettings & { readonly nameServer: readonly string[] },
  domain: string,
  clock: Clock,
): DnsChallenges | undefined {
  const { nameServer: nameServers } = settings;
  const { acmeDnsProvider: name, acmeDnsZone: zones, acmeDnsResolver: servers, acmeDnsTimeout: timeoutS } = settings;
  if (name === undefined) {
    if (settings.acmeChallenge === "dns-01") throw new Error("--acme-challenge dns-01 needs --acme-dns-provider");
    return undefined;
  }
  const access = {
    server: settings.acmeDnsServer,
    url: settings.acmeDnsUrl?.replace(/\/+$/, ""),
    ca: settings.acmeDnsCa,
    key: settings.acmeDnsKey,
    secret: settings.acmeDnsSecret,
    algorithm: settings.acmeDnsAlgorithm,
    program: settings.acmeDnsProgram,
  };
  return makeDnsChallenges({
    provider: openDnsProvider(name, access, clock),
    lookups: makeDnsLookups({ resolvers: servers.length > 0 ? servers : nameServers, servers }),
    zones: zones.length > 0 ? zones : [domain],
    timeoutMs: timeoutS * 1000,
    clock,
  });
}
