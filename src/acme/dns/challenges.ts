/** Answers `dns-01` challenges (RFC 8555 §8.4): where the record belongs, its creation, and the wait for all servers. */
import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { AcmeProblem } from "../problem.ts";
import type { DnsLookups, ServerAddress } from "./lookups.ts";
import type { DnsProvider, DnsRecord } from "./dns-provider.ts";

export interface DnsChallenges {
  /**
   * Resolves with the record that answers for `domain`, which may be a wildcard. Follows CNAME records of
   * `_acme-challenge`. Rejects with `AcmeProblem` if the record is outside the operator's zones.
   */
  locate(domain: string, keyAuthorization: string): Promise<DnsRecord>;
  /** Waits until no one else holds records of this name. Resolves with a function that releases the name. */
  hold(name: string): Promise<() => void>;
  /** Sets the record. Resolves as soon as all authoritative servers have it. Rejects with `AcmeProblem`. */
  present(record: DnsRecord, signal: AbortSignal): Promise<Propagation>;
  /** Removes the record. Retries, and then rejects with `AcmeProblem`. */
  cleanup(record: DnsRecord): Promise<void>;
}

/** Name servers that have a record, and name servers that did not answer in time. */
export interface Propagation {
  readonly agreed: readonly ServerAddress[];
  readonly silent: readonly ServerAddress[];
}

export interface DnsChallengeOptions {
  readonly provider: DnsProvider;
  readonly lookups: DnsLookups;
  /** Names at or below which the provider may set records. */
  readonly zones: readonly string[];
  /** Maximum wait for the authoritative servers, milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

const firstPauseMs = 500;
const longestPauseMs = 5_000;
/** Pauses between the attempts to remove a record, milliseconds. */
const cleanupPausesMs = [1_000, 5_000];

export function makeDnsChallenges(options: DnsChallengeOptions): DnsChallenges {
  const { provider, lookups, zones, timeoutMs, clock } = options;
  const held = new Map<string, Promise<void>>();
  return {
    async locate(domain, keyAuthorization) {
      const asked = `_acme-challenge.${domain.replace(/^\*\./, "")}`;
      const name = await lookups.follow(asked);
      if (!zones.some((zone) => name === zone || name.endsWith(`.${zone}`))) {
        const via = name === asked ? "" : `, to which "${asked}" leads,`;
        throw new AcmeProblem(
          "dnsZone",
          `"${name}"${via} is outside the names in which this server may set records: add its zone with --acme-dns-zone, or delegate "${asked}" with a CNAME record`,
        );
      }
      const value = createHash("sha256").update(keyAuthorization).digest("base64url");
      return { name, zone: await lookups.zoneOf(name), value };
    },
    async hold(name) {
      const before = held.get(name);
      const mine = Promise.withResolvers<void>();
      const all = Promise.all([before, mine.promise]).then(() => undefined);
      held.set(name, all);
      await before;
      return () => {
        mine.resolve();
        if (held.get(name) === all) held.delete(name);
      };
    },
    async present(record, signal) {
      await provider.present(record);
      return await waitForServers(record, signal);
    },
    async cleanup(record) {
      for (const pauseMs of [...cleanupPausesMs, undefined]) {
        try {
          await provider.cleanup(record);
          return;
        } catch (error) {
          if (pauseMs === undefined) throw error;
          await waitBeforeRetry(clock, pauseMs);
        }
      }
    },
  };

  async function waitForServers({ name, zone, value }: DnsRecord, signal: AbortSignal): Promise<Propagation> {
    const endsAt = clock.monotonic() + timeoutMs;
    const servers = await lookups.serversOf(zone);
    let missing: readonly ServerAddress[] = servers;
    for (let delayMs = firstPauseMs; ; delayMs = Math.min(delayMs * 2, longestPauseMs)) {
      if (signal.aborted) throw new AcmeProblem("unreachable", "the server is stopping");
      const answers = await Promise.all(
        missing.map(async (server) => ({ server, texts: await lookups.textsAt(server, name) })),
      );
      missing = answers.filter(({ texts }) => !texts?.includes(value)).map(({ server }) => server);
      if (missing.length === 0) return { agreed: servers, silent: [] };
      if (clock.monotonic() + delayMs > endsAt) {
        const without = answers.filter(({ texts }) => texts !== undefined && !texts.includes(value));
        // A server that is down does not count if others have the record: the authority asks another one, too.
        if (without.length === 0 && missing.length < servers.length) {
          return { agreed: servers.filter((one) => !missing.includes(one)), silent: missing };
        }
        const which = (without.length > 0 ? without.map(({ server }) => server) : missing).join(", ");
        const what = without.length > 0 ? "does not have" : "does not answer for";
        throw new AcmeProblem(
          "dnsPropagation",
          `after ${timeoutMs / 1000} s, the name server ${which} ${what} the TXT record "${name}"`,
        );
      }
      await waitBeforeRetry(clock, delayMs, signal);
    }
  }
}

function waitBeforeRetry(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.after(delayMs, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}
