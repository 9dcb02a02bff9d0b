import type { FieldTable } from "./field-table.ts";
import { known } from "./known-fields.ts";

/**
 * Fields that may not be trailers (RFC 9110 §6.5.1), in requests and responses of every HTTP version. A recipient that
 * reads them after the body has already acted without them, and a recipient that merges both sections takes them for
 * header fields that the edge never checked.
 */

/**
 * They determine where the message ends, where it goes, or what happens to its connection, so the message cannot be
 * trusted.
 */
const malformed: ReadonlySet<number> = new Set([
  known.host,
  known["content-length"],
  known["transfer-encoding"],
  known.connection,
  known.upgrade,
  known.expect,
]);

/** They are dropped (RFC 9110 §6.5.2 lets an intermediary do so). */
const dropped: ReadonlySet<string> = new Set([
  // this connection
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  // routing
  "forwarded",
  "max-forwards",
  "via",
  // authentication; Authentication-Info may come behind the body (RFC 9110 §11.6.3)
  "authorization",
  "cookie",
  "proxy-authenticate",
  "proxy-authorization",
  "set-cookie",
  "www-authenticate",
  // request modifiers
  "cache-control",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "origin",
  "pragma",
  "prefer",
  "range",
  // response controls
  "age",
  "expires",
  "location",
  "retry-after",
  "vary",
  "warning",
]);

/**
 * All of `Content-*` describes the content's format, except fields that can only be computed after it (RFC 9530 §2, RFC
 * 1864).
 */
const contentPrefix = "content-";
const contentSums: ReadonlySet<string> = new Set(["content-digest", "content-md5"]);

/** Drops forbidden fields from a message's trailers. Returns false if the whole message must be refused. */
export function admitTrailers(trailers: FieldTable): boolean {
  for (let index = 0; index < trailers.count; index += 1) {
    const id = trailers.knownAt(index);
    if (malformed.has(id)) return false;
    if (id >= 0 && isDropped(trailers.nameAt(index))) trailers.drop(index);
  }
  return true;
}

function isDropped(name: string): boolean {
  return dropped.has(name) || (name.startsWith(contentPrefix) && !contentSums.has(name));
}
