/** Host names and hostports (`host:port`) as the platform takes them: ASCII, lower case, punycode for others. */

export interface Hostport {
  /** Lower case; `*.example.com` for a wildcard. */
  readonly host: string;
  readonly port: number;
}

/** Reads `host:port`; undefined when it is none (see `hostportIssue`). */
export function parseHostport(text: string): Hostport | undefined {
  const colon = text.lastIndexOf(":");
  const digits = text.slice(colon + 1);
  const host = text.slice(0, Math.max(colon, 0)).toLowerCase();
  if (colon < 0 || !/^[1-9][0-9]{0,4}$/.test(digits) || Number(digits) > 65_535) return undefined;
  return hostIssue(host) === undefined ? { host, port: Number(digits) } : undefined;
}

/** The port of a hostport, without a look at its host; 0 when there is none. */
export function parsePort(hostport: string): number {
  const digits = /:([1-9][0-9]{0,4})$/.exec(hostport)?.[1];
  const port = Number(digits ?? 0);
  return port <= 65_535 ? port : 0;
}

/** What is wrong with `text` as a hostport, as the end of "must …"; undefined when nothing is. */
export function hostportIssue(text: string): string | undefined {
  if (parseHostport(text)) return undefined;
  const colon = text.lastIndexOf(":");
  const issue = colon > 0 ? hostIssue(text.slice(0, colon).toLowerCase()) : undefined;
  return issue ?? 'be a host name and a port from 1 to 65535, such as "app.example.com:443"';
}

/** What is wrong with a host name (RFC 1123 §2.1, RFC 4592 for `*.`), as the end of "must …". */
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

/** Whether `pattern` (a host or `*.suffix`, which covers several levels) covers `host`. Both lower case. */
export function hostMatches(pattern: string, host: string): boolean {
  return pattern === host || (pattern.startsWith("*.") && host.endsWith(pattern.slice(1)));
}
