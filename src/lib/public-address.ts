/** Distinguishes addresses on the internet from those in the network around this machine (security I7). */
import { parseCidr, readAddress } from "./address.ts";

/** Special-purpose networks (RFC 6890 and its registries) that are not reached over the internet. */
const inside = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
].map((text) => {
  const network = parseCidr(text);
  if (!network) throw new Error(`read "${text}": it is not a network`);
  return [network.first[0] as number, network.last[0] as number] as const;
});

/**
 * Whether `text` is an address of the public internet. For IPv6 forms that carry an IPv4 address, the IPv4 address
 * decides.
 */
export function isPublicAddress(text: string): boolean {
  const words = new Uint32Array(4);
  const family = readAddress(text, words);
  const [first = 0, second = 0, third = 0, fourth = 0] = words;
  if (family === 4) return isPublicIpv4(first);
  if (family !== 6) return false;
  // NAT64 (RFC 6052) and 6to4 (RFC 3056).
  if (first === 0x0064ff9b && second === 0 && third === 0) return isPublicIpv4(fourth);
  if (first >>> 16 === 0x2002) return isPublicIpv4(((first << 16) | (second >>> 16)) >>> 0);
  // All of 2000::/3 except Teredo, benchmarking, ORCHID and documentation (2001::/23, 2001:db8::/32, 3fff::/20).
  if (first >>> 29 !== 1) return false;
  return first >>> 9 !== 0x20010000 >>> 9 && first !== 0x20010db8 && first >>> 12 !== 0x3fff0;
}

function isPublicIpv4(word: number): boolean {
  return !inside.some(([first, last]) => word >= first && word <= last);
}
