/** The DNS record of one attempt. It is stored before it is set, so that a later attempt can remove it after a crash. */
import type { DnsChallenges } from "../../acme/dns/challenges.ts";
import type { DnsRecord } from "../../acme/dns/dns-provider.ts";
import { AcmeProblem } from "../../acme/problem.ts";
import type { Log } from "../../lib/log.ts";

export interface DnsProof {
  /** Removes the record that an earlier attempt has left. */
  clear(left: DnsRecord | null): Promise<void>;
  /** Resolves when all authoritative servers have the record. Rejects with `AcmeProblem`. */
  present(keyAuthorization: string): Promise<void>;
  /** Removes the record. Never rejects. */
  end(): Promise<void>;
}

export interface DnsProofOptions {
  readonly dns: DnsChallenges | undefined;
  readonly domain: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Stores the record in the domain's job. Null removes it. */
  store(record: DnsRecord | null): Promise<unknown>;
}

export function makeDnsProof({ dns, domain, log, signal, store }: DnsProofOptions): DnsProof {
  let release: (() => void) | undefined;
  let shown: DnsRecord | undefined;
  const remove = async (record: DnsRecord): Promise<void> => {
    try {
      await dns?.cleanup(record);
    } catch (error) {
      log.warn("DNS record not removed", { domain, record: record.name, error });
      return;
    }
    await store(null).catch((error: unknown) => log.debug("removed DNS record not stored", { domain, error }));
  };
  return {
    async clear(left) {
      if (!dns || !left) return;
      const freed = await dns.hold(left.name);
      try {
        await remove(left);
      } finally {
        freed();
      }
    },
    async present(keyAuthorization) {
      if (!dns) throw new AcmeProblem("noChallenge", "this server has no DNS provider");
      if (shown) await this.end();
      const record = await dns.locate(domain, keyAuthorization);
      release = await dns.hold(record.name);
      await store(record);
      shown = record;
      const { silent } = await dns.present(record, signal);
      if (silent.length > 0) {
        log.warn("name server does not answer", { domain, record: record.name, servers: silent.join(", ") });
      }
    },
    async end() {
      if (shown) await remove(shown);
      shown = undefined;
      release?.();
      release = undefined;
    },
  };
}
