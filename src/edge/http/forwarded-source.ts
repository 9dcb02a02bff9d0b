import { normaliseAddress } from "../../lib/address.ts";

/** Proxies in a row that are believed, each naming the one before it. */
const maxProxies = 32;

/**
 * The source of a request that came from a trusted proxy (security R3): the last address in its X-Forwarded-For
 * that is no trusted proxy's, which a trusted one wrote; what stands left of it anybody can have written. Where all
 * of them are trusted it is the first; without any it is undefined: the request is the proxy's own.
 *
 * "unreadable" when one of the addresses that are relied on is not one (a name, a port, nothing at all), or when they
 * are too many: who asks is then unknown, and not guessed.
 */
export function forwardedSource(
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
      // a zone id has no meaning on this side of the proxy
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
