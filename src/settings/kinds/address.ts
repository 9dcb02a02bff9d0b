import { isIP } from "node:net";
import { cidrIssue } from "../../lib/address.ts";
import { countryIssue } from "../../lib/countries.ts";
import { hostIssue } from "../../lib/hostport.ts";
import type { SettingKind } from "./kind.ts";

/** An address to listen on. `host` undefined: all addresses. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/** A country by its code, in upper case. */
export const country: SettingKind<string> = {
  placeholder: "CODE",
  parse(text) {
    const issue = countryIssue(text);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return text.toUpperCase();
  },
};

/** Both ends included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** `HOST:PORT`, `:PORT` or `PORT`; an IPv6 host in brackets. Port 0 chooses a free port. */
export const listenAddress: SettingKind<ListenAddress> = { placeholder: "[HOST:]PORT", parse: parseListen };

export const listenAddressOrOff: SettingKind<ListenAddress | undefined> = {
  placeholder: "[HOST:]PORT",
  parse: (text) => (text === "off" ? undefined : parseListen(text)),
};

export const port: SettingKind<number> = {
  placeholder: "PORT",
  parse(text) {
    const number = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number <= 65_535)) throw new Error("must be a port from 0 to 65535");
    return number;
  },
};

export const portRange: SettingKind<PortRange> = {
  placeholder: "FIRST-LAST",
  parse(text) {
    const [first = 0, last = 0] = /^(\d{1,5})-(\d{1,5})$/.exec(text)?.slice(1).map(Number) ?? [];
    if (first === 0 || first > last || last > 65_535) throw new Error("must be two ports, such as 20000-20999");
    return { first, last };
  },
};

/** A host name without wildcard, in lower case. */
export const hostName: SettingKind<string> = {
  placeholder: "NAME",
  parse(text) {
    const name = text.toLowerCase();
    const issue = name.includes("*") ? 'be a name without "*"' : hostIssue(name);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return name;
  },
};

/** A host name, or `*.` and a name for all names below it, in lower case. */
export const hostPattern: SettingKind<string> = {
  placeholder: "NAME",
  parse(text) {
    const pattern = text.toLowerCase();
    const issue = hostIssue(pattern);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return pattern;
  },
};

/** An IP address of this machine. */
export const ipAddress: SettingKind<string> = {
  placeholder: "ADDRESS",
  parse(text) {
    if (isIP(text) === 0) throw new Error("must be an address");
    return text;
  },
};

/** `ADDRESS` or `ADDRESS:PORT`; with a port, an IPv6 address is in brackets. */
export const nameServer: SettingKind<string> = {
  placeholder: "ADDRESS[:PORT]",
  parse(text) {
    const [, address = text, digits] = /^(?:\[(?=.*:)|(?=[\d.]+:))([^\]]+?)\]?:(\d{1,5})$/.exec(text) ?? [];
    const number = Number(digits ?? 53);
    if (isIP(address) === 0 || number === 0 || number > 65_535) {
      throw new Error("must be an IP address, with or without a port, such as 192.0.2.53 or [2001:db8::53]:5353");
    }
    return text;
  },
};

/** A machine's host name or address. */
export const machine: SettingKind<string> = {
  placeholder: "HOST",
  parse: (text) => (isIP(text) === 0 ? hostName.parse(text) : text),
};

/** Address of a listener, with an IPv6 host in brackets. */
export const hostAndPort: SettingKind<{ readonly host: string; readonly port: number }> = {
  placeholder: "HOST:PORT",
  parse(text) {
    const [, six, name, digits = ""] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(text) ?? [];
    const number = Number(digits);
    if (!(number > 0 && number <= 65_535)) throw new Error("must be HOST:PORT, with an IPv6 address in brackets");
    return { host: machine.parse(six ?? name ?? ""), port: number };
  },
};

/** A network in CIDR notation. */
export const network: SettingKind<string> = {
  placeholder: "CIDR",
  parse(text) {
    const issue = cidrIssue(text);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return text;
  },
};

export function renderListen({ host, port: number }: ListenAddress): string {
  return host === undefined ? `:${number}` : `${host.includes(":") ? `[${host}]` : host}:${number}`;
}

function parseListen(text: string): ListenAddress {
  const parts = /^(?:(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]/\s]*):)?(?<port>\d{1,5})$/.exec(text)?.groups;
  if (!parts) throw new Error("must be PORT, :PORT or HOST:PORT, with an IPv6 address in brackets");
  const host = parts.host?.replace(/^\[|\]$/g, "");
  return { host: host === "" || host === "*" ? undefined : host, port: port.parse(parts.port as string) };
}
