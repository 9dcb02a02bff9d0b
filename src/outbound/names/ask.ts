/**
 * Looks up the addresses of one name: in the hosts file, then at the name servers, without the thread pool of
 * `dns.lookup`.
 */
import { Resolver } from "node:dns";
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import type { Clock } from "../../lib/clock.ts";
import { followSystemFiles } from "./system-files.ts";
import type { FilePaths, SystemFiles } from "./system-files.ts";

/** The addresses of a name, in the order in which they should be tried. */
export interface NameAnswer {
  readonly addresses: readonly LookupAddress[];
  readonly ttlMs: number;
}

/** Rejects with a `NameError`. */
export type Ask = (name: string) => Promise<NameAnswer>;

export class NameError extends Error {
  /** Codes of `dns.lookup`. `EAI_AGAIN` may be temporary. */
  readonly code: "ENOTFOUND" | "EAI_AGAIN";

  constructor(code: NameError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Per server and attempt. A name takes at most this time × servers × attempts. */
const queryTimeoutMs = 2_000;
const tries = 2;
/** The hosts file and `localhost` define no time to live. */
const fileTtlMs = 2_000;
const maxAddresses = 64;
const maxNameLength = 253;
const loopback: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** @param servers `address` or `address:port`; if empty, the system's servers and search domains */
export function makeAsk(clock: Clock, servers: readonly string[], paths?: FilePaths): Ask {
  const files = followSystemFiles(clock, paths);
  let current: { readonly version: string; readonly resolver: Resolver } | undefined;
  const resolverFor = (version: string): Resolver => {
    if (current && (servers.length > 0 || current.version === version)) return current.resolver;
    const resolver = new Resolver({ timeout: queryTimeoutMs, maxTimeout: queryTimeoutMs, tries });
    if (servers.length > 0) resolver.setServers(servers);
    current = { version, resolver };
    return resolver;
  };
  return async (name) => {
    if (!/^[\x21-\x7e]+$/.test(name) || name.length > maxNameLength) {
      throw new NameError("ENOTFOUND", `look up "${name}": it is not a host name`);
    }
    const system = await files();
    const bare = name.endsWith(".") ? name.slice(0, -1) : name;
    const local =
      system.hosts.get(bare) ?? (bare === "localhost" || bare.endsWith(".localhost") ? "loopback" : undefined);
    if (local === "loopback") return { addresses: loopback, ttlMs: fileTtlMs };
    if (local) return { addresses: local.map((address) => ({ address, family: isIP(address) })), ttlMs: fileTtlMs };
    const resolver = resolverFor(system.version);
    const candidates = servers.length > 0 ? [bare] : candidatesOf(name, system);
    for (const candidate of candidates) {
      const answer = await queryServer(resolver, candidate, name);
      if (answer) return answer;
    }
    throw new NameError("ENOTFOUND", `look up "${name}": the host does not exist`);
  };
}

/** @internal Returns the names to query, in order (resolv.conf(5), `search` and `ndots`). */
export function candidatesOf(name: string, { search, ndots }: Pick<SystemFiles, "search" | "ndots">): string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)];
  const longer = search.map((domain) => `${name}.${domain}`).filter((one) => one.length <= maxNameLength);
  const dots = name.split(".").length - 1;
  return dots >= ndots ? [name, ...longer] : [...longer, name];
}

interface Records {
  readonly code: string | undefined;
  readonly records: readonly { readonly address: string; readonly ttl: number }[];
}

/** Resolves with undefined if the name has no address. Rejects if no server responded. */
async function queryServer(resolver: Resolver, asked: string, name: string): Promise<NameAnswer | undefined> {
  const [v4, v6] = await Promise.all([
    new Promise<Records>((resolve) => {
      resolver.resolve4(asked, { ttl: true }, (error, found) => resolve(recordsOf(error, found)));
    }),
    new Promise<Records>((resolve) => {
      resolver.resolve6(asked, { ttl: true }, (error, found) => resolve(recordsOf(error, found)));
    }),
  ]);
  const records = [...v4.records, ...v6.records];
  if (records.length > 0) {
    const addresses = [
      ...v4.records.map(({ address }) => ({ address, family: 4 })),
      ...v6.records.map(({ address }) => ({ address, family: 6 })),
    ];
    // RFC 8305 §4 prefers IPv6 if this machine supports it.
    if (v6.records.length > 0 && hasIpv6()) addresses.sort((a, b) => b.family - a.family);
    return { addresses, ttlMs: Math.min(...records.map(({ ttl }) => ttl)) * 1000 };
  }
  const failed = [v4, v6].find(({ code }) => code !== undefined && !absent.has(code));
  if (!failed) return undefined;
  throw new NameError("EAI_AGAIN", `look up "${name}": the name servers gave no answer (${failed.code})`);
}

/** Error codes for a name without an address of this family. */
const absent: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

function recordsOf(error: NodeJS.ErrnoException | null, found: Records["records"] | undefined): Records {
  return error
    ? { code: error.code ?? error.message, records: [] }
    : { code: undefined, records: (found ?? []).slice(0, maxAddresses) };
}

function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((all) =>
    all?.some(({ family, internal, scopeid }) => family === "IPv6" && !internal && scopeid === 0),
  );
}
