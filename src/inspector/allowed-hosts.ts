/** Additional names under which the local API may be called. */
import { BlockList, isIP } from "node:net";

/**
 * Compiles the allowed values of `Host` (without port): an address, a network in CIDR notation, a name, or `.name` for
 * all names below it. Anything else allows nothing.
 */
export function compileAllowedHosts(texts: readonly string[]): (host: string) => boolean {
  const addresses = new BlockList();
  const names = new Set<string>();
  const suffixes: string[] = [];
  for (const one of texts.map((text) => text.toLowerCase())) {
    const [start = "", prefix] = one.split("/");
    const family = isIP(start) === 6 ? "ipv6" : "ipv4";
    if (isIP(start) !== 0 && prefix !== undefined) addresses.addSubnet(start, Number(prefix), family);
    else if (isIP(start) !== 0) addresses.addAddress(start, family);
    else if (one.startsWith(".")) suffixes.push(one);
    else names.add(one);
  }
  return (host) => {
    const bare = host.toLowerCase().replace(/^\[|\]$/g, "");
    const family = isIP(bare);
    if (family !== 0) return addresses.check(bare, family === 6 ? "ipv6" : "ipv4");
    return names.has(bare) || suffixes.some((suffix) => bare.endsWith(suffix));
  };
}
