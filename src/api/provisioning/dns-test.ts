/** A test of the DNS provider with a record that is removed at once. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { AcmeSettings } from "../../settings/acme.ts";
import { openDnsChallenges } from "./dns.ts";

/** One step of the test, as text: what it did, or why it failed. */
export interface DnsStep {
  readonly isFine: boolean;
  readonly about: string;
  readonly message: string;
}

/** Yields nothing without a provider. The last step is the first failure, or the removal of the record. */
export async function* testDnsProvider(
  settings: AcmeSettings & { readonly nameServer: readonly string[]; readonly domain: string },
  clock: Clock,
): AsyncGenerator<DnsStep> {
  const { acmeDnsProvider: name, domain } = settings;
  if (name === undefined) return;
  const about = `DNS provider ${name}`;
  const fine = (message: string): DnsStep => ({ isFine: true, about, message });
  const wrong = (message: string): DnsStep => ({ isFine: false, about, message });
  const since = clock.monotonic();
  const after = (): string => `${((clock.monotonic() - since) / 1000).toFixed(1)} s`;
  try {
    const dns = openDnsChallenges(settings, domain, clock);
    if (!dns) return;
    // A random value, so that it is no answer to any challenge.
    const record = await dns.locate(domain, `postern-doctor.${randomBytes(32).toString("base64url")}`);
    const asked = `_acme-challenge.${domain}`;
    const via = record.name === asked ? "" : `, to which ${asked} leads`;
    yield fine(`sets records at ${record.name}${via}, in the zone ${record.zone}`);
    try {
      const { agreed, silent } = await dns.present(record, new AbortController().signal);
      yield fine(`${agreed.join(", ")} had the test record after ${after()}`);
      if (silent.length > 0)
        yield wrong(`the name server ${silent.join(", ")} does not answer: remove it from the zone`);
    } finally {
      await dns.cleanup(record);
    }
    yield fine(`removed the test record after ${after()}`);
  } catch (error) {
    yield wrong(error instanceof Error ? error.message : String(error));
  }
}
