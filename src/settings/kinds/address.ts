import { isIP } from "node:net";
import { cidrIssue } from "../../lib/address.ts";
import { countryIssue } from "../../lib/countries.ts";
import { hostIssue } from "../../lib/hostport.ts";
import type { Kind } from "./kind.ts";

/** An address to listen on. `host` undefined: all addresses. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/** A country by its code, in upper case. */
export const country: Kind<string> = {
  placeholder: "CODE",
  parse(given) {
    const issue = countryIssue(given);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return given.toUpperCase();
  },
};

/** Both ends included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** `HOST:PORT`, `:PORT` or `PORT`; an IPv6 host in brackets. Port 0 chooses a free port. */
export const listenAddress: Kind<ListenAddress> = { placeholder: "[HOST:]PORT", parse: parseListen };

export const listenAddressOrOff: Kind<ListenAddress | undefined> = {
  placeholder: "[HOST:]PORT",
  parse: (given) => (given === "off" ? undefined : parseListen(given)),
};

export const port: Kind<number> = {
  placeholder: "PORT",
  parse(given) {
    const number = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
    if (!(number <= 65_535)) throw new Error("must be a port from 0 to 65535");
    return number;
  },
};

export const portRange: Kind<PortRange> = {
  placeholder: "FIRST-LAST",
  parse(given) {
    const [first = 0, last = 0] = /^(\d{1,5})-(\d{1,5})$/.exec(given)?.slice(1).map(Number) ?? [];
    if (first === 0 || first > last || last > 65_535) throw new Error("must be two ports, such as 20000-20999");
    return { first, last };
  },
};

/** A host name without wildcard, in lower case. */
export const hostName: Kind<string> = {
  placeholder: "NAME",
  parse(given) {
    const name = given.toLowerCase();
    const issue = name.includes("*") ? 'be a name without "*"' : hostIssue(name);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return name;
  },
};

/** A host name, or `*.` and a name for all names below it, in lower case. */
export const hostPattern: Kind<string> = {
  placeholder: "NAME",
  parse(given) {
    const pattern = given.toLowerCase();
    const issue = hostIssue(pattern);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return pattern;
  },
};

/** An IP address of this machine. */
export const ipAddress: Kind<string> = {
  placeholder: "ADDRESS",
  parse(given) {
    if (isIP(given) === 0) throw new Error("must be an address");
    return given;
  },
};

/** `ADDRESS` or `ADDRESS:PORT`; with a port, an IPv6 address is in brackets. */
export const nameServer: Kind<string> = {
  placeholder: "ADDRESS[:PORT]",
  parse(given) {
    const [, address = given, digits] = /^(?:\[(?=.*:)|(?=[\d.]+:))([^\]]+?)\]?:(\d{1,5})$/.exec(given) ?? [];
    const number = Number(digits ?? 53);
    if (isIP(address) === 0 || number === 0 || number > 65_535) {
      throw new Error("must be an IP address, with or without a port, such as 192.0.2.53 or [2001:db8::53]:5353");
    }
    return given;
  },
};

/** A machine's host name or address. */
export const machine: Kind<string> = {
  placeholder: "HOST",
  parse: (given) => (isIP(given) === 0 ? hostName.parse(given) : given),
};

/** Address of a listener, with an IPv6 host in brackets. */
export const hostAndPort: Kind<{ readonly host: string; readonly port: number }> = {
  placeholder: "HOST:PORT",
  parse(given) {
    const [, six, name, digits = ""] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(given) ?? [];
    const number = Number(digits);
    if (!(number > 0 && number <= 65_535)) throw new Error("must be HOST:PORT, with an IPv6 address in brackets");
    return { host: machine.parse(six ?? name ?? ""), port: number };
  },
};

/** A network in CIDR notation. */
export const network: Kind<string> = {
  placeholder: "CIDR",
  parse(given) {
    const issue = cidrIssue(given);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return given;
  },
};

export function renderListen({ host, port: number }: ListenAddress): string {
  return host === undefined ? `:${number}` : `${host.includes(":") ? `[${host}]` : host}:${number}`;
}

function parseListen(given: string): ListenAddress {
  const parts = /^(?:(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]/\s]*):)?(?<port>\d{1,5})$/.exec(given)?.groups;
  if (!parts) throw new Error("must be PORT, :PORT or HOST:PORT, with an IPv6 address in brackets");
  const host = parts.host?.replace(/^\[|\]$/g, "");
  return { host: host === "" || host === "*" ? undefined : host, port: port.parse(parts.port as string) };
}
