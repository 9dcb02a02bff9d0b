/** DNS records that a public server needs, compared with the addresses of this machine. */
import { randomBytes } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { isPublicAddress } from "../../lib/public-address.ts";
import type { Finding } from "../doctor/finding.ts";

export interface ServerNames {
  readonly domain: string;
  readonly idpHost: string;
}

/** Addresses of a name, by address family. */
export interface NameAddresses {
  readonly v4: readonly string[];
  readonly v6: readonly string[];
}

/** Resolves with no addresses if the name does not exist or its name servers do not answer. */
export type ResolveName = (name: string) => Promise<NameAddresses>;

/** The addresses at which visitors reach this machine. */
export interface OwnAddresses extends NameAddresses {
  /** Families whose public address is unknown here, because a router translates it to a private one. */
  readonly translated: { readonly v4: boolean; readonly v6: boolean };
}

export interface NameCheck {
  readonly findings: readonly Finding[];
  /** Records to add, as a name and a type. */
  readonly missing: readonly { readonly name: string; readonly type: "A" | "AAAA" }[];
}

const timeoutMs = 3_000;

/** @param servers addresses of name servers; the system's if the list is empty */
export function resolveWith(servers: readonly string[]): ResolveName {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  const none = (): string[] => [];
  return async (name) => {
    const [v4, v6] = await Promise.all([resolver.resolve4(name).catch(none), resolver.resolve6(name).catch(none)]);
    return { v4, v6 };
  };
}

/** @param texts public addresses from `--address`; without them, the addresses of the network interfaces */
export function findOwnAddresses(texts: readonly string[], interfaces = networkInterfaces()): OwnAddresses {
  const found =
    texts.length > 0
      ? texts
      : Object.values(interfaces)
          .flatMap((one) => one ?? [])
          .filter(({ internal, address }) => !internal && !/^fe80:/i.test(address))
          .map(({ address }) => address);
  const v4 = found.filter((one) => isIPv4(one));
  const v6 = found.filter((one) => !isIPv4(one));
  const isPrivate = texts.length === 0 && !found.some((address) => isPublicAddress(address));
  const isPrivate4 = texts.length === 0 && v4.length > 0 && !v4.some((address) => isPublicAddress(address));
  return { v4, v6, translated: { v4: isPrivate || isPrivate4, v6: isPrivate } };
}

/** Checks the domain, one random name below it and the login host, over both address families. */
export async function checkNames(
  { domain, idpHost }: ServerNames,
  serverAddresses: OwnAddresses,
  resolve: ResolveName,
): Promise<NameCheck> {
  const below = `postern-check-${randomBytes(4).toString("hex")}.${domain}`;
  const recordOf = new Map([
    [domain, domain],
    [below, `*.${domain}`],
    [idpHost, idpHost.endsWith(`.${domain}`) ? `*.${domain}` : idpHost],
  ]);
  const findings: Finding[] = [];
  const missing = new Map<string, NameCheck["missing"][number]>();
  for (const [name, record] of recordOf) {
    const found = await resolve(name);
    findings.push(judgeName(name, found, serverAddresses));
    const needed = (["A", "AAAA"] as const).filter((type) => lacksAddress(type, found, serverAddresses));
    for (const type of needed) missing.set(`${record} ${type}`, { name: record, type });
  }
  return { findings, missing: [...missing.values()] };
}

function lacksAddress(type: "A" | "AAAA", found: NameAddresses, serverAddresses: OwnAddresses): boolean {
  if (type === "A") return found.v4.length === 0 && (serverAddresses.v4.length > 0 || serverAddresses.v6.length === 0);
  return (
    found.v4.length === 0 && found.v6.length === 0 && serverAddresses.v6.some((address) => isPublicAddress(address))
  );
}

function judgeName(about: string, { v4, v6 }: NameAddresses, serverAddresses: OwnAddresses): Finding {
  const all = [...v4, ...v6];
  if (all.length === 0) {
    return { outcome: "wrong", about, message: "the name has no address: add the DNS record below" };
  }
  const leads = `leads to ${all.join(", ")}`;
  const foreign4 = v4.filter((one) => !serverAddresses.v4.includes(one));
  const foreign6 = v6.filter((one) => !serverAddresses.v6.includes(one));
  if (foreign4.length + foreign6.length === 0) return { outcome: "fine", about, message: leads };
  if (
    (foreign4.length === 0 || serverAddresses.translated.v4) &&
    (foreign6.length === 0 || serverAddresses.translated.v6)
  ) {
    const message = `${leads}. This machine cannot check that, because its own address is private: forward the ports from that address to this machine, and set --address to it`;
    return { outcome: "warning", about, message };
  }
  if (foreign4.length === 0 && serverAddresses.v6.length === 0) {
    const message = `leads to ${foreign6.join(", ")}, but this machine has no IPv6 address: remove the AAAA record, or set --address if traffic is forwarded`;
    return { outcome: "wrong", about, message };
  }
  const present = [...serverAddresses.v4, ...serverAddresses.v6].join(", ") || "none";
  const foreign = [...foreign4, ...foreign6].join(", ");
  const message = `leads to ${foreign}, which is not an address of this machine (${present}): correct the record, or set --address if traffic is forwarded`;
  return { outcome: "wrong", about, message };
}

/** Formats the records for a zone file, and as a table for web forms. */
export function renderRecords(missing: NameCheck["missing"], serverAddresses: OwnAddresses): string {
  const valueOf = (type: "A" | "AAAA"): string => {
    const known = type === "A" ? serverAddresses.v4 : serverAddresses.v6;
    if (type === "A" ? serverAddresses.translated.v4 : serverAddresses.translated.v6) return "YOUR_PUBLIC_ADDRESS";
    return known.find((address) => isPublicAddress(address)) ?? known[0] ?? "YOUR_PUBLIC_ADDRESS";
  };
  const rows = missing.map(({ name, type }) => ({ name, type, value: valueOf(type) }));
  const width = Math.max(4, ...rows.map(({ name }) => name.length));
  const zone = rows.map((row) => `  ${row.name}. 300 IN ${row.type} ${row.value}`);
  const table = rows.map((row) => `  ${row.name.padEnd(width)}  ${row.type.padEnd(4)}  ${row.value}`);
  return [
    "Missing DNS records, for a zone file:",
    "",
    ...zone,
    "",
    "The same for a web form:",
    "",
    `  ${"Name".padEnd(width)}  Type  Value`,
    ...table,
    "",
  ].join("\n");
}
