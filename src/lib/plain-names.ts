/**
 * Names that agents claim. A host has one name for plain HTTP and one for everything in TLS, and both may be published.
 * They are stored as `http://host` and `host`. An account with one of them keeps other accounts from claiming the
 * other.
 */
const mark = "http://";

/** @param host as stored, lower case; for an internal endpoint with its account */
export function nameOf(proto: "https" | "http" | "tls" | "tcp", host: string): string {
  return proto === "http" ? `${mark}${host}` : host;
}

export function hostOfName(name: string): string {
  return name.startsWith(mark) ? name.slice(mark.length) : name;
}

/** Returns the other name of the same host. */
export function siblingOf(name: string): string {
  return name.startsWith(mark) ? hostOfName(name) : `${mark}${name}`;
}
