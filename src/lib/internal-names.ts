/**
 * Names of internal endpoints. Each account has separate names, which only its own policies can reach. Lists of names
 * of all accounts include the account: `api.internal#ac_…`. A port that is not the scheme's default is included too:
 * `db.internal:5432#ac_…`. No client can send such a name (RFC 3986 §3.2.2, RFC 6066 §3).
 */
const ending = ".internal";
const mark = "#";
/** Maximum labels before `.internal`. */
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

/**
 * Returns the further requirement for a name that ends in `.internal`, after "must"; undefined if the name is valid.
 */
export function internalNameDemand(host: string): string | undefined {
  if (host.split(".").length - 1 <= maxLabels) return undefined;
  return `have at most ${maxLabels} labels before "${ending}"`;
}

/** Parses `scheme://name.internal[:port]`; undefined for anything else, and for TCP without a port. */
export function readInternalUrl(text: string): InternalAddress | undefined {
  const [, scheme = "", host = "", port] = /^(https?|tls|tcp):\/\/([a-z0-9_.-]+)(?::(\d{1,5}))?\/?$/i.exec(text) ?? [];
  if (!isInternalName(host.toLowerCase())) return undefined;
  const its = scheme.toLowerCase() as InternalScheme;
  const number = port === undefined ? usualPorts[its] : Number(port);
  return number >= 1 && number <= 65_535 ? { scheme: its, host: host.toLowerCase(), port: number } : undefined;
}

/** Returns the key of the name among those of all accounts, lower case like all of them. */
export function internalKey({ scheme, host, port }: InternalAddress, accountId: string): string {
  return `${host}${port === usualPorts[scheme] ? "" : `:${port}`}${mark}${accountId.toLowerCase()}`;
}

/** Yields the key, then the keys of the wildcards that cover it, the nearest first. */
export function* keysOver(key: string): Iterable<string> {
  yield key;
  for (let dot = key.indexOf("."); dot >= 0; dot = key.indexOf(".", dot + 1)) yield `*${key.slice(dot)}`;
}

export function isInternalKey(key: string): boolean {
  return key.includes(mark);
}

/** Returns the plain name, without port. */
export function internalNameOf(key: string): string {
  const at = key.indexOf(mark);
  return at < 0 ? key : key.slice(0, at).replace(/:\d+$/, "");
}
