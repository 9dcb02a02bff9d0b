import { isInternalName } from "../../lib/internal-names.ts";
import { nameOf } from "../../lib/plain-names.ts";

/**
 * Returns the name of an internal HTTP URL, see `nameOf`; undefined for any other URL. Ignores the port, because
 * internal HTTP endpoints are identified by name.
 */
export function internalNameIn(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username + url.password !== "") return undefined;
  return isInternalName(url.hostname) ? nameOf(url.protocol === "http:" ? "http" : "https", url.hostname) : undefined;
}
