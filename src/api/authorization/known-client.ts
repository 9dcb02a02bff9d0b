import type { JsonObject } from "../../lib/json.ts";
import { toVisibleLine } from "../../lib/visible-text.ts";
import { redirectIssue } from "../../lib/redirect-uris.ts";

export interface KnownClient {
  /** As the client calls itself. */
  readonly title: string;
  readonly redirectUris: readonly string[];
}

const maxRedirects = 5;

const maxTitle = 80;

/** Reads the metadata of a client (RFC 7591 §2), or returns the fault. @param fallback title of a client without a name */
export function clientIn(metadata: JsonObject, fallback: string): KnownClient | string {
  const uris = metadata["redirect_uris"];
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > maxRedirects) {
    return `redirect_uris must be a list of 1 to ${maxRedirects} URIs`;
  }
  for (const uri of uris as readonly unknown[]) {
    const wrong = typeof uri === "string" ? redirectIssue(uri) : "be a string";
    if (wrong !== undefined) return `redirect_uris must ${wrong}`;
  }
  const given = metadata["client_name"];
  const title = typeof given === "string" ? toVisibleLine(given).trim().slice(0, maxTitle) : "";
  return {
    title: title || fallback || new URL(uris[0] as string).host || "an application",
    redirectUris: uris as string[],
  };
}
