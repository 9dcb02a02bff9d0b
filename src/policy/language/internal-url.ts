import { isInternalName } from "../../lib/internal-names.ts";
import { nameOf } from "../../lib/plain-names.ts";

/**
 * The name of an internal URL of HTTP, see `nameOf`; undefined for any other. A port says nothing: internal endpoints of
 * HTTP are known by their names.
 */
export function internalNameIn(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username + url.password !== "") return undefined;
  return isInternalName(url.hostname) ? nameOf(url.protocol === "http:" ? "http" : "https", url.hostname) : undefined;
}
