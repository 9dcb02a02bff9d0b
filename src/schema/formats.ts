/** String formats that several declarations share. */
import { cidrIssue, normaliseAddress } from "../lib/address.ts";
import { countryIssue } from "../lib/countries.ts";
import { hostIssue, hostportIssue } from "../lib/hostport.ts";
import { matchIssue } from "../lib/route-match.ts";
import type { StringFormat } from "./fields.ts";

export const cidr: StringFormat = {
  name: "cidr",
  example: "192.0.2.0/24",
  reason: "cidr_invalid",
  check: cidrIssue,
};

/** A code of ISO 3166-1 alpha-2. Stored in upper case. */
export const countryCode: StringFormat = {
  name: "country-code",
  example: "DE",
  check: countryIssue,
  normalize: (text) => text.toUpperCase(),
};

/** Stored in lower case. */
export const hostport: StringFormat = {
  name: "hostport",
  example: "app.example.com:443",
  reason: "hostport_invalid",
  check: hostportIssue,
  normalize: (text) => text.toLowerCase(),
};

/** A host name, optionally with the prefix `*.`. Stored in lower case. */
export const domain: StringFormat = {
  name: "domain",
  example: "app.example.com",
  reason: "domain_invalid",
  check: hostIssue,
  normalize: (text) => text.toLowerCase(),
};

/** A display name of any characters, but not only white space. */
export const visibleName: StringFormat = {
  name: "not-blank",
  example: "deploy",
  check: (text) => (text.trim() === "" ? "not be blank" : undefined),
};

/** An email address in ASCII. Stored in lower case, because people write the same address differently. */
export const emailAddress: StringFormat = {
  name: "email",
  example: "ann@example.com",
  check: (text) =>
    /^[^\s@"<>(),;:\\[\]]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i.test(text) && /^[\x21-\x7e]+$/.test(text)
      ? undefined
      : "be an email address, such as ann@example.com",
  normalize: (text) => text.toLowerCase(),
};

/** A label's name or value. */
export const label: StringFormat = {
  name: "label",
  example: "web",
  reason: "labels_invalid",
  check(text) {
    if (text.trim() === "") return "not be blank";
    return text.includes("=") ? 'not contain "="' : undefined;
  },
};

/** `*`, or `bind:` and a domain, a hostport or `key=value`, each with `*` as wildcard. */
export const aclRule: StringFormat = {
  name: "acl-rule",
  example: "bind:*.example.com",
  reason: "acl_invalid",
  check(text) {
    if (text === "*") return undefined;
    const bound = /^bind:([\x21-\x7e]+)$/.exec(text)?.[1];
    if (bound === undefined) return 'be "*" or "bind:" and a domain, a host:port or a label as key=value';
    if (/^[^=]+=[^=]+$/.test(bound)) return undefined;
    const [host, port, ...rest] = bound.split(":");
    if (rest.length > 0 || (port !== undefined && !/^(\*|[0-9]{1,5})$/.test(port))) return "name a host and a port";
    const issue = host === "*" ? undefined : hostIssue((host as string).replaceAll("*", "a"));
    return issue === undefined ? undefined : `name a host: it must ${issue}`;
  },
};

/** The match of a route: a path, a host, or a host with a path. Stored as given. */
export const routeMatch: StringFormat = {
  name: "route-match",
  example: "/api",
  reason: "match_invalid",
  check: matchIssue,
};

/** `host:port` of a dialable address: a name, an IPv4 address, or an IPv6 address in brackets. */
export const address: StringFormat = {
  name: "address",
  example: "10.0.0.5:8080",
  check(text) {
    const [, host = "", port = ""] = /^(.*):([1-9][0-9]{0,4})$/.exec(text) ?? [];
    if (port === "" || Number(port) > 65_535) return "be a host and a port from 1 to 65535";
    const bracketed = /^\[([0-9a-f:.]+)\]$/i.exec(host)?.[1];
    if (bracketed !== undefined) return cidrIssue(`${bracketed}/128`) && "have an IPv6 address in brackets";
    if (/^[0-9.]+$/.test(host)) return cidrIssue(`${host}/32`) && "have an IPv4 address or a host name";
    return host.includes("*") ? "name one host" : hostIssue(host);
  },
};

/** RFC 9110 §5.5: no control characters but tab. */
export const headerValue: StringFormat = {
  name: "header-value",
  example: "example",
  check: (text) =>
    /^[\t\x20-\x7e\x80-\xff]*$/.test(text) ? undefined : "contain no control characters and none above U+00FF",
};

export const ipAddress: StringFormat = {
  name: "ip",
  example: "192.0.2.1",
  check: (text) => (normaliseAddress(text) === undefined ? "be an IPv4 or IPv6 address" : undefined),
};
