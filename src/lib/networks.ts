import { BlockList } from "node:net";
import { formatAddress, parseCidr } from "./address.ts";

/** Whether a canonical address is in one of the networks. */
export type Networks = (address: string) => boolean;

/** @param cidrs in CIDR notation; throws if one is invalid. Returns undefined for an empty list. */
export function networksOf(cidrs: readonly string[]): Networks | undefined {
  if (cidrs.length === 0) return undefined;
  const list = new BlockList();
  for (const cidr of cidrs) {
    const network = parseCidr(cidr);
    if (!network) throw new Error(`read a list of networks: "${cidr}" is not a network in CIDR notation`);
    const { family, prefix, first } = network;
    list.addSubnet(formatAddress(family, first), prefix, family === 4 ? "ipv4" : "ipv6");
  }
  return (address) => list.check(address, address.includes(":") ? "ipv6" : "ipv4");
}
