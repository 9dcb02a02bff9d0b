/** PROXY protocol header, versions 1 and 2, that the edge sends to agents on request (HAProxy, proxy-protocol.txt). */
import { isIPv4 } from "node:net";
import { normaliseAddress, readAddress } from "../../lib/address.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";

type Ends = Pick<ConnectionFacts, "source" | "sourcePort" | "local" | "localPort">;

const signature2 = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const overTcp4 = 0x11;
const overTcp6 = 0x21;

/** @returns undefined for version 0, which means no header */
export function proxyPreamble(version: 0 | 1 | 2, ends: Ends): Buffer | undefined {
  if (version === 0) return undefined;
  const { source } = ends;
  const local = normaliseAddress(ends.local.localAddress ?? "") ?? "::";
  const is4 = isIPv4(source) && isIPv4(local);
  const [from, to] = is4 ? [source, local] : [mapToIpv6(source), mapToIpv6(local)];
  return version === 1 ? encodeVersion1(is4, from, to, ends) : encodeVersion2(is4, from, to, ends);
}

function encodeVersion1(is4: boolean, from: string, to: string, { sourcePort, localPort }: Ends): Buffer {
  return Buffer.from(`PROXY ${is4 ? "TCP4" : "TCP6"} ${from} ${to} ${sourcePort} ${localPort}\r\n`, "latin1");
}

function encodeVersion2(is4: boolean, from: string, to: string, { sourcePort, localPort }: Ends): Buffer {
  const addressBytes = is4 ? 4 : 16;
  const header = Buffer.alloc(signature2.length + 4 + 2 * addressBytes + 4);
  signature2.copy(header);
  let at = signature2.length;
  at = header.writeUInt8(0x21, at);
  at = header.writeUInt8(is4 ? overTcp4 : overTcp6, at);
  at = header.writeUInt16BE(2 * addressBytes + 4, at);
  for (const address of [from, to]) {
    const words = new Uint32Array(4);
    // `readAddress` unmaps, so a mapped address needs its prefix again.
    if (readAddress(address, words) === 4 && !is4) words.set([0, 0, 0xffff, words[0] as number]);
    for (let word = 0; word < addressBytes / 4; word += 1) at = header.writeUInt32BE(words[word] as number, at);
  }
  at = header.writeUInt16BE(sourcePort, at);
  header.writeUInt16BE(localPort, at);
  return header;
}

/** Both addresses must be of one family, so an IPv4 address is mapped. */
function mapToIpv6(address: string): string {
  return isIPv4(address) ? `::ffff:${address}` : address;
}
