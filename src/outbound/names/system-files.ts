/** The two files that configure name resolution on this machine. They are read again when they change. */
import { readFile, stat } from "node:fs/promises";
import { isIP } from "node:net";
import type { Clock } from "../../lib/clock.ts";

export interface SystemFiles {
  /** Addresses by lower-case name, from the hosts file. */
  readonly hosts: ReadonlyMap<string, readonly string[]>;
  /** Domains that are appended to short names. */
  readonly search: readonly string[];
  /** Names with at least this many dots are tried as given before the search domains. */
  readonly ndots: number;
  /** Changes with `resolv.conf`, which also names the servers. */
  readonly version: string;
}

export interface FilePaths {
  readonly hosts: string;
  readonly resolvConf: string;
}

const systemPaths: FilePaths = { hosts: "/etc/hosts", resolvConf: "/etc/resolv.conf" };
const checkEveryMs = 2_000;
const maxFileBytes = 8 * 1024 * 1024;
const maxAddressesPerName = 64;
/** Limits of the C library. */
const maxSearchDomains = 6;
const maxDots = 15;

/**
 * Returns a function that resolves with the content of the files, at most two seconds old. An unreadable file counts as
 * empty.
 */
export function followSystemFiles(clock: Clock, paths = systemPaths): () => Promise<SystemFiles> {
  const hosts = followFile(paths.hosts, parseHosts);
  const resolvConf = followFile(paths.resolvConf, parseResolvConf);
  let checkedAt = -Infinity;
  let reading: Promise<SystemFiles> | undefined;
  const read = async (): Promise<SystemFiles> => {
    const [names, resolution] = await Promise.all([hosts(), resolvConf()]);
    return { hosts: names.value, ...resolution.value, version: resolution.version };
  };
  return () => {
    const now = clock.monotonic();
    if (!reading || now - checkedAt >= checkEveryMs) {
      checkedAt = now;
      reading = read();
    }
    return reading;
  };
}

interface Followed<Value> {
  readonly version: string;
  readonly value: Value;
}

function followFile<Value>(path: string, parse: (text: string) => Value): () => Promise<Followed<Value>> {
  let last: Followed<Value> = { version: "", value: parse("") };
  return async () => {
    try {
      const { mtimeMs, size, ino } = await stat(path);
      const version = `${ino} ${mtimeMs} ${size}`;
      if (version !== last.version) {
        last = { version, value: parse(size > maxFileBytes ? "" : await readFile(path, "utf8")) };
      }
    } catch {
      last = { version: "", value: parse("") };
    }
    return last;
  };
}

/** @internal */
export function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const [address = "", ...names] of splitWords(text)) {
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const addresses = hosts.get(key);
      if (!addresses) hosts.set(key, [address]);
      else if (addresses.length < maxAddressesPerName && !addresses.includes(address)) addresses.push(address);
    }
  }
  return hosts;
}

/** @internal */
export function parseResolvConf(text: string): Pick<SystemFiles, "search" | "ndots"> {
  let search: readonly string[] = [];
  let ndots = 1;
  for (const [keyword, ...values] of splitWords(text)) {
    // The last of these lines wins (resolv.conf(5)).
    if (keyword === "search") search = values.slice(0, maxSearchDomains);
    else if (keyword === "domain") search = values.slice(0, 1);
    else if (keyword === "options") {
      const given = values.findLast((one) => /^ndots:\d{1,3}$/.test(one));
      if (given !== undefined) ndots = Math.min(Number(given.slice("ndots:".length)), maxDots);
    }
  }
  return { search: search.map((one) => one.replace(/\.$/, "")).filter((one) => one !== ""), ndots };
}

function splitWords(text: string): string[][] {
  return text
    .split("\n")
    .map((line) => line.replace(/[#;].*$/, "").trim())
    .filter((line) => line !== "")
    .map((line) => line.split(/\s+/));
}
