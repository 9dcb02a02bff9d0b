/** Header before the bytes of a public connection on its stream (agent-protocol, "Streams"). */
import type { ByteReceiver } from "../lib/io/byte-stream.ts";
import { textMember } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";
import type { MuxStream } from "./mux/mux-stream.ts";
import type { ProxyHeader } from "./server-hooks.ts";

/** The header on the agent's side. */
export interface ProxiedHeader {
  readonly tunnelId: string;
  /** `ip:port` or `[v6]:port`. */
  readonly clientAddress: string;
  readonly proto: string;
  readonly edgeType: ProxyHeader["edgeType"];
  readonly passthroughTls: boolean;
}

const edgeTypes = ["endpoint", "tcp_edge", "tls_edge", "https_edge"] as const;
const typeText = "\0\0\0\x03";
const lengthBytes = 8;
const maxHeaderBytes = 4096;

/** Returns type, length and header in Latin-1. All its characters are ASCII. */
export function renderProxyHeader(header: ProxyHeader): string {
  const text = JSON.stringify({
    Id: header.tunnelId,
    ClientAddr: header.clientAddress,
    Proto: header.proto,
    EdgeType: String(edgeTypes.indexOf(header.edgeType)),
    PassthroughTLS: header.passthroughTls,
  });
  return `${typeText}${String.fromCharCode(text.length & 255, text.length >> 8)}\0\0\0\0\0\0${text}`;
}

/** Reads the header after the type, then calls `begin`, which must set the receiver of the remaining bytes. */
export class ProxyHeaderReceiver implements ByteReceiver {
  readonly #stream: MuxStream;
  readonly #begin: (header: ProxiedHeader, stream: MuxStream) => void;
  #held: Buffer | undefined;

  constructor(stream: MuxStream, begin: (header: ProxiedHeader, stream: MuxStream) => void) {
    this.#stream = stream;
    this.#begin = begin;
  }

  data(arrived: Buffer): void {
    const bytes = this.#held ? Buffer.concat([this.#held, arrived]) : arrived;
    this.#held = bytes;
    if (bytes.length < lengthBytes) return;
    const length = bytes.readUInt32LE(0);
    if (bytes.readUInt32LE(4) !== 0 || length > maxHeaderBytes) return this.#stream.abort();
    const end = lengthBytes + length;
    if (bytes.length < end) return;
    this.#held = undefined;
    this.#stream.consumed(end);
    let header: ProxiedHeader;
    try {
      header = parseProxyHeader(JSON.parse(bytes.toString("utf8", lengthBytes, end)) as JsonObject);
    } catch {
      return this.#stream.abort();
    }
    this.#begin(header, this.#stream);
    if (bytes.length > end && !this.#stream.over) this.#stream.receiver.data(bytes.subarray(end));
  }

  ended(): void {
    this.#stream.abort();
  }

  drained(): void {}
  closed(): void {}
}

function parseProxyHeader(message: JsonObject): ProxiedHeader {
  return {
    tunnelId: textMember(message, "Id", 255),
    clientAddress: textMember(message, "ClientAddr", 255),
    proto: textMember(message, "Proto", 32),
    edgeType: edgeTypes[Number(textMember(message, "EdgeType", 8))] ?? "endpoint",
    passthroughTls: message["PassthroughTLS"] === true,
  };
}
