/**
 * The names that agents claim: a host has its name once for plain HTTP and once for everything in TLS, and both may be
 * published. They are kept as `http://host` and `host`, and whoever has one keeps other accounts from the other.
 */
const mark = "http://";

/** @param host as it is kept, lower case; of an internal endpoint with its account */
export function nameOf(proto: "https" | "http" | "tls" | "tcp", host: string): string {
  return proto === "http" ? `${mark}${host}` : host;
}

export function hostOfName(name: string): string {
  return name.startsWith(mark) ? name.slice(mark.length) : name;
}

/** The other name of the same host. */
export function siblingOf(name: string): string {
  return name.startsWith(mark) ? hostOfName(name) : `${mark}${name}`;
}
