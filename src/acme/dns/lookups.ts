/** Questions to name servers: where a challenge's record belongs, and which servers have it. */
import { Resolver } from "node:dns/promises";
import { AcmeProblem } from "../problem.ts";

/** A name server as `ADDRESS` or `ADDRESS:PORT`. */
export type ServerAddress = string;

export interface DnsLookups {
  /** Follows CNAME records. Resolves with the last name. Rejects with `AcmeProblem`. */
  follow(name: string): Promise<string>;
  /** Resolves with the closest zone that contains `name`. Rejects with `AcmeProblem`. */
  zoneOf(name: string): Promise<string>;
  /** Resolves with the servers that must have a new record of `zone`: its authoritative ones. */
  serversOf(zone: string): Promise<readonly ServerAddress[]>;
  /** Resolves with the TXT records that `server` returns, undefined if it does not answer. */
  textsAt(server: ServerAddress, name: string): Promise<readonly string[] | undefined>;
}

export interface LookupOptions {
  /** Recursive name servers for all questions but the last. If empty, the system's. */
  readonly resolvers: readonly ServerAddress[];
  /** Name servers that must have a new record. If empty, the authoritative ones of its zone. */
  readonly servers: readonly ServerAddress[];
  /** Port of authoritative servers. */
  readonly authoritativePort?: number;
}

/** Per server and attempt. */
const timeoutMs = 3_000;
const tries = 2;
const maxAliases = 8;
const maxServers = 16;

/** Every question uses a new resolver, so that no answer comes from a cache of this process. */
export function makeDnsLookups({ resolvers, servers, authoritativePort = 53 }: LookupOptions): DnsLookups {
  const resolver = (at: readonly ServerAddress[] = resolvers): Resolver => {
    const made = new Resolver({ timeout: timeoutMs, maxTimeout: timeoutMs, tries });
    if (at.length > 0) made.setServers(at);
    return made;
  };
  const aliasOf = async (name: string): Promise<string | undefined> => {
    const [target] = await orNone(resolver().resolveCname(name), name);
    return target?.toLowerCase().replace(/\.$/, "");
  };
  const addressesOf = async (name: string): Promise<readonly string[]> => {
    const v4 = await orNone(resolver().resolve4(name), name).catch(() => []);
    return v4.length > 0 ? v4 : await orNone(resolver().resolve6(name), name).catch(() => []);
  };
  return {
    async follow(name) {
      const seen = [name];
      for (;;) {
        const target = await aliasOf(seen.at(-1) as string);
        if (target === undefined) return seen.at(-1) as string;
        if (seen.includes(target) || seen.length > maxAliases) {
          throw new AcmeProblem(
            "dnsZone",
            `the CNAME records of "${name}" form a loop or a chain of more than ${maxAliases}`,
          );
        }
        seen.push(target);
      }
    },
    async zoneOf(name) {
      for (let zone = name; zone.includes("."); zone = zone.slice(zone.indexOf(".") + 1)) {
        const start = await orNone(
          resolver()
            .resolveSoa(zone)
            .then((one) => [one]),
          zone,
        );
        // A name server may answer with the SOA record of an alias's target.
        if (start.length > 0 && (await aliasOf(zone)) === undefined) return zone;
      }
      throw new AcmeProblem("dnsZone", `no name server has a zone for "${name}"`);
    },
    async serversOf(zone) {
      if (servers.length > 0) return servers;
      const names = (await orNone(resolver().resolveNs(zone), zone)).slice(0, maxServers);
      const found = (await Promise.all(names.map(addressesOf))).flat().slice(0, maxServers);
      if (found.length === 0) {
        throw new AcmeProblem("dnsZone", `no authoritative name server of the zone "${zone}" has an address`);
      }
      return found.map((address) => (address.includes(":") ? `[${address}]` : address) + `:${authoritativePort}`);
    },
    async textsAt(server, name) {
      try {
        return (await orNone(resolver([server]).resolveTxt(name), name)).map((parts) => parts.join(""));
      } catch {
        return undefined;
      }
    },
  };
}

/** Resolves with no records for a name without them. Rejects with `AcmeProblem` if no server answers. */
async function orNone<T>(asked: Promise<readonly T[]>, name: string): Promise<readonly T[]> {
  try {
    return await asked;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOTFOUND", "ENODATA"].includes(code)) return [];
    throw new AcmeProblem("dnsLookup", `no name server answers for "${name}" (${code || String(error)})`, {
      cause: error,
    });
  }
}
