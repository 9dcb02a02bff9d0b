/**
 * Names of internal endpoints: each account has its own, which nobody can reach but by its
 * policies. Where names of all accounts are kept, they stand with the account: `api.internal#ac_…`, and with the port
 * where that is none that the scheme has by itself, `db.internal:5432#ac_…`: no name that a client could send (RFC 3986
 * §3.2.2, RFC 6066 §3).
 */
const ending = ".internal";
const mark = "#";
/** Labels before `.internal`. */
const maxLabels = 5;

export type InternalScheme = "https" | "http" | "tls" | "tcp";

const usualPorts: Readonly<Record<InternalScheme, number>> = { https: 443, http: 80, tls: 443, tcp: 0 };

/** A URL of an internal endpoint, in parts. */
export interface InternalAddress {
  readonly scheme: InternalScheme;
  /** Lower case; may be a wildcard. */
  readonly host: string;
  readonly port: number;
}

/** @param host lower case; may be a wildcard */
export function isInternalName(host: string): boolean {
  return host.endsWith(ending);
}

/** What a name that ends in `.internal` "must" be besides; undefined when it is right. */
export function internalNameDemand(host: string): string | undefined {
  if (host.split(".").length - 1 <= maxLabels) return undefined;
  return `have at most ${maxLabels} labels before "${ending}"`;
}

/** The parts of `scheme://name.internal[:port]`; undefined for anything else, and for TCP without a port. */
export function readInternalUrl(text: string): InternalAddress | undefined {
  const [, scheme = "", host = "", port] = /^(https?|tls|tcp):\/\/([a-z0-9_.-]+)(?::(\d{1,5}))?\/?$/i.exec(text) ?? [];
  if (!isInternalName(host.toLowerCase())) return undefined;
  const its = scheme.toLowerCase() as InternalScheme;
  const number = port === undefined ? usualPorts[its] : Number(port);
  return number >= 1 && number <= 65_535 ? { scheme: its, host: host.toLowerCase(), port: number } : undefined;
}

/** The name as it is kept among those of all accounts, lower case as they are. */
export function internalKey({ scheme, host, port }: InternalAddress, accountId: string): string {
  return `${host}${port === usualPorts[scheme] ? "" : `:${port}`}${mark}${accountId.toLowerCase()}`;
}

/** The key, then those of the wildcards over it, the nearest first. */
export function* keysOver(key: string): Iterable<string> {
  yield key;
  for (let dot = key.indexOf("."); dot >= 0; dot = key.indexOf(".", dot + 1)) yield `*${key.slice(dot)}`;
}

export function isInternalKey(key: string): boolean {
  return key.includes(mark);
}

/** The name itself, without port. */
export function internalNameOf(key: string): string {
  const at = key.indexOf(mark);
  return at < 0 ? key : key.slice(0, at).replace(/:\d+$/, "");
}
