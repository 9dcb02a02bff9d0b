/** PROXY protocol header, versions 1 and 2, as sent by proxies in front of the edge (HAProxy, proxy-protocol.txt). */
import { isIPv4, isIPv6 } from "node:net";

interface ProxiedClient {
  readonly address: string;
  readonly port: number;
}

export type ProxyHeaderRead =
  | { readonly state: "more"; readonly atLeast: number }
  | { readonly state: "invalid" }
  /** `client` is undefined if the proxy connects for itself, as in a health check. */
  | { readonly state: "header"; readonly length: number; readonly client: ProxiedClient | undefined };

const signature2 = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const signature1 = Buffer.from("PROXY ", "latin1");
const head2Bytes = 16;
/** §2.1: maximum length of a version 1 line including its end, bytes. */
const maxLineBytes = 107;
/** Maximum size of version 2 addresses and extensions, bytes. */
const maxBody2Bytes = 1024;

/** Parses a header in the first bytes of a connection. Never throws. */
export function readProxyHeader(bytes: Buffer): ProxyHeaderRead {
  if (bytes.length === 0) return { state: "more", atLeast: 1 };
  if (startsAlike(bytes, signature2)) return readVersion2(bytes);
  if (startsAlike(bytes, signature1)) return readVersion1(bytes);
  return { state: "invalid" };
}

/** Whether the two are equal up to the shorter length. */
function startsAlike(bytes: Buffer, signature: Buffer): boolean {
  const length = Math.min(bytes.length, signature.length);
  return bytes.subarray(0, length).equals(signature.subarray(0, length));
}

function readVersion1(bytes: Buffer): ProxyHeaderRead {
  const end = bytes.subarray(0, maxLineBytes).indexOf("\r\n");
  if (end < 0)
    return bytes.length >= maxLineBytes ? { state: "invalid" } : { state: "more", atLeast: bytes.length + 1 };
  const length = end + 2;
  const line = bytes.toString("latin1", 0, end);
  if (line === "PROXY UNKNOWN" || line.startsWith("PROXY UNKNOWN "))
    return { state: "header", length, client: undefined };
  const [, family, source = "", destination = "", sourcePort = "", destinationPort = "", ...more] = line.split(" ");
  const isAddress = family === "TCP4" ? isIPv4 : family === "TCP6" ? isIPv6 : undefined;
  const port = readPort(sourcePort);
  const isWhole = more.length === 0 && port !== undefined && readPort(destinationPort) !== undefined;
  // A zone id has no meaning outside the proxy.
  if (!isWhole || !isAddress?.(source) || !isAddress(destination) || line.includes("%")) return { state: "invalid" };
  return { state: "header", length, client: { address: source, port } };
}

function readPort(text: string): number | undefined {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

function readVersion2(bytes: Buffer): ProxyHeaderRead {
  if (bytes.length < head2Bytes) return { state: "more", atLeast: head2Bytes };
  const command = bytes[12] as number;
  const family = bytes[13] as number;
  const bodyBytes = bytes.readUInt16BE(14);
  const length = head2Bytes + bodyBytes;
  if ((command !== 0x20 && command !== 0x21) || bodyBytes > maxBody2Bytes) return { state: "invalid" };
  if (bytes.length < length) return { state: "more", atLeast: length };
  if (command === 0x20) return { state: "header", length, client: undefined };
  const body = bytes.subarray(head2Bytes, length);
  // AF_INET and AF_INET6 over a stream. No other family can connect here.
  if (family === 0x11 && bodyBytes >= 12) {
    return { state: "header", length, client: { address: body.subarray(0, 4).join("."), port: body.readUInt16BE(8) } };
  }
  if (family === 0x21 && bodyBytes >= 36) {
    const groups = Array.from({ length: 8 }, (_, at) => body.readUInt16BE(at * 2).toString(16));
    return { state: "header", length, client: { address: groups.join(":"), port: body.readUInt16BE(32) } };
  }
  return { state: "invalid" };
}
