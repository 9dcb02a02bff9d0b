import { isHttpToken } from "../lib/http-token.ts";
import type { StringFormat } from "./fields.ts";

/**
 * Fields that frame the message or belong to one hop only (RFC 9110 §7.6.1). The edge sets them, and no configuration
 * can (control P4).
 */
export const protectedNames: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The name of a header field that configuration may set or remove. Stored in lower case. */
export const headerName: StringFormat = {
  name: "header-name",
  example: "x-environment",
  check(text) {
    if (!isHttpToken(text)) return "be a header name: letters, digits and !#$%&'*+.^_`|~- only";
    const name = text.toLowerCase();
    return protectedNames.has(name) ? `not be "${name}", which only the edge sets` : undefined;
  },
  normalize: (text) => text.toLowerCase(),
};
