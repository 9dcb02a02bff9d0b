import { normaliseAddress } from "../../lib/address.ts";

/** Maximum length of a chain of trusted proxies. */
const maxProxies = 32;

/**
 * Returns the source of a request from a trusted proxy (security R3): the last address in its X-Forwarded-For that does
 * not belong to a trusted proxy. A trusted proxy wrote that address. Anyone can have written the addresses left of it.
 * If all of them are trusted proxies, returns the first. Returns undefined for an empty list, because the request is
 * the proxy's own.
 *
 * Returns "unreadable" if one of the addresses up to the source is invalid (a name, a port, empty), or if the chain is
 * too long. The source is then unknown.
 */
export function readForwardedSource(
  values: readonly string[],
  trusts: (source: string) => boolean,
): { readonly source: string | undefined } | "unreadable" {
  let source: string | undefined;
  let proxies = 0;
  for (let at = values.length - 1; at >= 0; at -= 1) {
    const value = values[at] as string;
    for (let end = value.length; end >= 0;) {
      const comma = end === 0 ? -1 : value.lastIndexOf(",", end - 1);
      const text = value.slice(comma + 1, end).trim();
      // A zone id has no meaning outside the proxy.
      source = text.includes("%") ? undefined : normaliseAddress(text);
      if (source === undefined) return "unreadable";
      if (!trusts(source)) return { source };
      proxies += 1;
      if (proxies > maxProxies) return "unreadable";
      end = comma;
    }
  }
  return { source };
}
