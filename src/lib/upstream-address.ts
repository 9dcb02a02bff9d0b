/** Addresses that backends may use, and descriptions of forbidden ones (security I7). */
import { readAddress } from "./address.ts";

/**
 * Addresses of cloud metadata services besides link-local ones: Azure, Alibaba Cloud, Oracle Cloud, and AWS by IPv6.
 */
const metadataServices = new Set(
  ["168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"].map((text) => {
    const words = new Uint32Array(4);
    return keyOf(readAddress(text, words), words);
  }),
);

/**
 * Returns a description of an address that must not be dialled, as a noun such as "a loopback address"; undefined if it
 * is allowed. The unspecified address, multicast and broadcast are always forbidden. Loopback, link-local and the
 * metadata services of clouds are allowed only if the operator permits them (`allowLocal`).
 */
export function explainForbidden(address: string, allowLocal: boolean): string | undefined {
  const words = new Uint32Array(4);
  const family = readAddress(address, words);
  const [first = 0, second = 0, third = 0, fourth = 0] = words;
  if (!allowLocal && metadataServices.has(keyOf(family, words))) return "the metadata service of a cloud";
  if (family === 4) return explainForbiddenIpv4(first, allowLocal);
  if (family !== 6) return "no address";
  if (first >>> 24 === 0xff) return "a multicast address";
  const isLow = first === 0 && second === 0 && third === 0;
  if (isLow && fourth === 0) return "the unspecified address";
  // NAT64 and 6to4 forms carry an IPv4 address (RFC 6052, RFC 3056), which is dialled in the end.
  if (first === 0x0064ff9b && second === 0 && third === 0) return explainForbiddenEmbedded(fourth, allowLocal);
  if (first >>> 16 === 0x2002) return explainForbiddenEmbedded(((first << 16) | (second >>> 16)) >>> 0, allowLocal);
  if (allowLocal) return undefined;
  if (isLow) return fourth === 1 ? "a loopback address" : "an IPv4-compatible address";
  return first >>> 22 === 0xfe80 >>> 6 ? "a link-local address" : undefined;
}

function explainForbiddenIpv4(word: number, allowLocal: boolean): string | undefined {
  const top = word >>> 24;
  if (top === 0) return "the unspecified address or its network";
  if (top >= 224) return top < 240 ? "a multicast address" : "a broadcast or reserved address";
  if (allowLocal) return undefined;
  if (top === 127) return "a loopback address";
  return word >>> 16 === 0xa9fe ? "a link-local address" : undefined;
}

function explainForbiddenEmbedded(word: number, allowLocal: boolean): string | undefined {
  return explainForbidden([24, 16, 8, 0].map((shift) => (word >>> shift) & 255).join("."), allowLocal);
}

function keyOf(family: 0 | 4 | 6, words: Uint32Array): string {
  return words.subarray(0, family === 4 ? 1 : 4).join();
}
