import { hexValue } from "./bytes.ts";

/** A host and an optional port; port 0 means none was given. */
export interface Authority {
  readonly host: string;
  readonly port: number;
}

/**
 * Parses `host` or `host:port` (RFC 9110 §7.2) into lower case without a trailing dot. Returns undefined if the text is
 * empty, has user information, or is not a name, an IPv4 address or a bracketed IPv6 address.
 */
export function parseAuthority(text: string): Authority | undefined {
  let at = 0;
  let upper = false;
  const { length } = text;
  if (text.charCodeAt(0) === 91) {
    at = 1;
    while (at < length && isAddressCode(text.charCodeAt(at))) at += 1;
    if (at < 4 || text.charCodeAt(at) !== 93) return undefined;
    at += 1;
    upper = true;
  } else {
    for (; at < length; at += 1) {
      const code = text.charCodeAt(at);
      if (code >= 65 && code <= 90) upper = true;
      else if (
        !((code >= 97 && code <= 122) || (code >= 48 && code <= 57) || code === 45 || code === 46 || code === 95)
      ) {
        break;
      }
    }
  }
  const hostEnd = at > 1 && text.charCodeAt(at - 1) === 46 ? at - 1 : at;
  if (hostEnd === 0 || hostEnd > 255 || text.charCodeAt(hostEnd - 1) === 46 || text.charCodeAt(0) === 46) {
    return undefined;
  }
  const host = hostEnd === length && !upper ? text : text.slice(0, hostEnd).toLowerCase();
  if (host.includes("..")) return undefined;
  if (at === length) return { host, port: 0 };
  if (text.charCodeAt(at) !== 58 || length - at > 6 || length - at < 2) return undefined;
  let port = 0;
  for (at += 1; at < length; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return undefined;
    port = port * 10 + digit;
  }
  return port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** Characters of an IPv6 address without zone: hexadecimal digits, colons, dots. */
function isAddressCode(code: number): boolean {
  return code === 58 || code === 46 || (code < 128 && hexValue[code] !== 255);
}

/**
 * Returns the origin form of a request target (RFC 9112 §3.2): path and query. An absolute target must use http or
 * https, name the same host as the Host field, and have no user information. Returns undefined for anything else, such
 * as `*`.
 */
export function originForm(target: string, authority: Authority): string | undefined {
  if (target.charCodeAt(0) === 47) return target;
  const scheme = /^https?:\/\//i.exec(target)?.[0];
  if (scheme === undefined) return undefined;
  const end = target.slice(scheme.length).search(/[/?]/);
  const named = parseAuthority(
    end < 0 ? target.slice(scheme.length) : target.slice(scheme.length, scheme.length + end),
  );
  if (named?.host !== authority.host || named.port !== authority.port) return undefined;
  if (end < 0) return "/";
  const rest = target.slice(scheme.length + end);
  return rest.charCodeAt(0) === 47 ? rest : `/${rest}`;
}
