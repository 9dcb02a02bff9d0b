/** Host names and hostports (`host:port`) in the platform's form: ASCII, lower case, punycode for others. */

export interface Hostport {
  /** Lower case; `*.example.com` for a wildcard. */
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port`; undefined if it is invalid (see `hostportIssue`). */
export function parseHostport(text: string): Hostport | undefined {
  const colon = text.lastIndexOf(":");
  const digits = text.slice(colon + 1);
  const host = text.slice(0, Math.max(colon, 0)).toLowerCase();
  if (colon < 0 || !/^[1-9][0-9]{0,4}$/.test(digits) || Number(digits) > 65_535) return undefined;
  return hostIssue(host) === undefined ? { host, port: Number(digits) } : undefined;
}

/** Returns the port of a hostport, without checking its host; 0 if there is none. */
export function parsePort(hostport: string): number {
  const digits = /:([1-9][0-9]{0,4})$/.exec(hostport)?.[1];
  const port = Number(digits ?? 0);
  return port <= 65_535 ? port : 0;
}

/** Returns the error in `text` as a hostport, as the end of "must …"; undefined if it is valid. */
export function hostportIssue(text: string): string | undefined {
  if (parseHostport(text)) return undefined;
  const colon = text.lastIndexOf(":");
  const issue = colon > 0 ? hostIssue(text.slice(0, colon).toLowerCase()) : undefined;
  return issue ?? 'be a host name and a port from 1 to 65535, such as "app.example.com:443"';
}

/**
 * Returns the error in a host name (RFC 1123 §2.1, RFC 4592 for `*.`), as the end of "must …"; undefined if it is
 * valid.
 */
export function hostIssue(host: string): string | undefined {
  if (/[^\x21-\x7e]/.test(host)) return "be written in ASCII (punycode for other scripts)";
  if (host.includes("_")) return "not contain an underscore";
  const name = host.startsWith("*.") ? host.slice(2) : host;
  if (name.includes("*")) return 'have "*" only as its whole first label';
  if (host.length > 253) return "be at most 253 characters long";
  const labels = name.split(".");
  for (const label of labels) {
    if (!/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(label)) {
      return "consist of labels of 1 to 63 letters, digits and inner hyphens, separated by dots";
    }
  }
  if (/^[0-9]+$/.test(labels.at(-1) as string)) return "be a name, not an address";
  return undefined;
}

/** Whether `pattern` (a host or `*.suffix`, which covers several levels) covers `host`. Both are lower case. */
export function hostMatches(pattern: string, host: string): boolean {
  return pattern === host || (pattern.startsWith("*.") && host.endsWith(pattern.slice(1)));
}
