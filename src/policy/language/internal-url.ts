import { isInternalName } from "../../lib/internal-names.ts";

/** The lower-case host of an internal URL of HTTP, without a port; undefined for any other. */
export function internalHostOf(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.port !== "" || url.username !== "") return undefined;
  return isInternalName(url.hostname) ? url.hostname : undefined;
}
