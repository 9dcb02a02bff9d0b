/** Reading a TLS ClientHello without taking part in the handshake (RFC 8446 §4.1.2, §5.1; RFC 5246 §7.4.1.2). */

import type { HelloOffer } from "./ja4.ts";

export interface ClientHello extends HelloOffer {
  /** Lower case, without a trailing dot; "" when the client names no server. */
  readonly serverName: string;
  /** Protocols offered, in the client's order (RFC 7301). */
  readonly alpn: readonly string[];
  /** Versions offered, e.g. 0x0304 for TLS 1.3. */
  readonly versions: readonly number[];
}

export type Peek =
  /** Nothing can be said before `atLeast` bytes in all are there. */
  | { readonly state: "more"; readonly atLeast: number }
  | { readonly state: "invalid"; readonly reason: string; readonly alert: number }
  | { readonly state: "hello"; readonly hello: ClientHello };

/** Alert descriptions (RFC 8446 §6): what came is something else, is longer than a record may be, cannot be read. */
const unexpectedMessage = 10;
const recordOverflow = 22;
const decodeError = 50;

const maxRecordBytes = 16 * 1024;
/** Records and headers included; browsers send under 2 kB. */
const maxClientHelloBytes = 16 * 1024;
/** Clients that split a hello use a handful; without a bound, looking at each anew costs the square of them. */
const maxRecords = 64;

const recordHandshake = 22;
const handshakeClientHello = 1;
const extensionServerName = 0;
const extensionSignatureAlgorithms = 13;
const extensionAlpn = 16;
const extensionVersions = 43;
const hostName = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/;

/**
 * Looks at the first `bytes` of a connection. The hello may be spread over records at will. Never throws;
 * asks for no more than `maxClientHelloBytes`.
 */
export function peekClientHello(bytes: Buffer): Peek {
  const message = gatherHandshake(bytes);
  if ("state" in message) return message;
  try {
    return { state: "hello", hello: readHello(new Cursor(message.body)) };
  } catch (error) {
    if (error instanceof Malformed) return invalid(error.message);
    throw error;
  }
}

/** The body of the first handshake message, put together from its records. */
function gatherHandshake(bytes: Buffer): Peek | { readonly body: Buffer } {
  const parts: Buffer[] = [];
  let gathered = 0;
  let wanted: number | undefined;
  for (let at = 0; ;) {
    if (at + 5 > maxClientHelloBytes) return invalid("the ClientHello is too long");
    const first = bytes[at];
    if (first !== undefined && first !== recordHandshake) return invalid("not a handshake record", unexpectedMessage);
    if (at + 5 > bytes.length) return { state: "more", atLeast: at + 5 };
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at + 1] !== 3) return invalid("not a record of TLS");
    // RFC 8446 §5.4 and §5.1
    if (length === 0) return invalid("an empty handshake record", unexpectedMessage);
    if (length > maxRecordBytes) return invalid("a record longer than there can be", recordOverflow);
    const end = at + 5 + length;
    if (end > maxClientHelloBytes) return invalid("the ClientHello is too long");
    if (end > bytes.length) return { state: "more", atLeast: end };
    if (parts.length === maxRecords) return invalid("the ClientHello is in too many records");
    parts.push(bytes.subarray(at + 5, end));
    gathered += length;
    at = end;
    if (wanted === undefined && gathered >= 4) {
      const header = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      if (header[0] !== handshakeClientHello) {
        return invalid("the first message is not a ClientHello", unexpectedMessage);
      }
      wanted = 4 + header.readUIntBE(1, 3);
      if (wanted > maxClientHelloBytes) return invalid("the ClientHello is too long");
    }
    if (wanted === undefined || gathered < wanted) continue;
    // nothing may follow a ClientHello before the server has answered
    if (gathered > wanted) return invalid("more than a ClientHello in its record", unexpectedMessage);
    return { body: (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).subarray(4) };
  }
}

function readHello(body: Cursor): ClientHello {
  const legacyVersion = body.uint16();
  body.skip(32);
  if (body.vector(1).left > 32) throw new Malformed("the session id is too long");
  const suites = body.vector(2);
  if (suites.left === 0 || suites.left % 2 !== 0) throw new Malformed("bad list of cipher suites");
  const cipherSuites = suites.uint16s();
  if (body.vector(1).left === 0) throw new Malformed("no compression method");
  let serverName = "";
  let alpn: string[] = [];
  let versions = [legacyVersion];
  let signatureAlgorithms: number[] = [];
  const seen = new Set<number>();
  if (body.left > 0) {
    const extensions = body.vector(2);
    body.finish();
    while (extensions.left > 0) {
      const type = extensions.uint16();
      const value = extensions.vector(2);
      if (seen.has(type)) throw new Malformed("an extension occurs twice");
      seen.add(type);
      if (type === extensionServerName) serverName = readServerName(value);
      else if (type === extensionAlpn) alpn = readAlpn(value);
      else if (type === extensionVersions) versions = readVersions(value);
      else if (type === extensionSignatureAlgorithms) signatureAlgorithms = readAlgorithms(value);
    }
  }
  const namesServer = seen.has(extensionServerName);
  return { serverName, alpn, versions, namesServer, cipherSuites, extensions: [...seen], signatureAlgorithms };
}

/** RFC 6066 §3. */
function readServerName(value: Cursor): string {
  const list = value.vector(2);
  value.finish();
  const type = list.uint8();
  const name = list.vector(2);
  list.finish();
  if (type !== 0) throw new Malformed("a server name of unknown type");
  const text = name.latin1().toLowerCase();
  if (text.length > 254 || !hostName.test(text)) throw new Malformed("the server name is no host name");
  return text.endsWith(".") ? text.slice(0, -1) : text;
}

function readAlpn(value: Cursor): string[] {
  const list = value.vector(2);
  value.finish();
  const names: string[] = [];
  do {
    const name = list.vector(1);
    if (name.left === 0) throw new Malformed("an empty protocol name");
    names.push(name.latin1());
  } while (list.left > 0);
  return names;
}

function readVersions(value: Cursor): number[] {
  const list = value.vector(1);
  value.finish();
  const versions: number[] = [];
  do versions.push(list.uint16());
  while (list.left > 0);
  return versions;
}

/** RFC 8446 §4.2.3. What cannot be read is left to the handshake to refuse. */
function readAlgorithms(value: Cursor): number[] {
  if (value.left < 2) return [];
  const length = value.uint16();
  return length === value.left && length % 2 === 0 ? value.uint16s() : [];
}

function invalid(reason: string, alert = decodeError): Peek {
  return { state: "invalid", reason, alert };
}

class Malformed extends Error {}

/** Reads forward through a part of `bytes`, of which nothing is copied; `Malformed` when it does not suffice. */
class Cursor {
  readonly #bytes: Buffer;
  #at: number;
  readonly #end: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  /** Moves on; returns where the bytes begin that were passed. */
  skip(count: number): number {
    if (count > this.left) throw new Malformed("the ClientHello is cut off");
    const start = this.#at;
    this.#at += count;
    return start;
  }

  uint8(): number {
    return this.#bytes[this.skip(1)] as number;
  }

  uint16(): number {
    const at = this.skip(2);
    return ((this.#bytes[at] as number) << 8) | (this.#bytes[at + 1] as number);
  }

  /** What is left, of which there must be an even number of bytes. */
  uint16s(): number[] {
    const values: number[] = [];
    while (this.left > 0) values.push(this.uint16());
    return values;
  }

  /** What is left, each byte one character. */
  latin1(): string {
    return this.#bytes.latin1Slice(this.skip(this.left), this.#end);
  }

  /** What a length of `lengthBytes` bytes announces. */
  vector(lengthBytes: 1 | 2): Cursor {
    const length = lengthBytes === 1 ? this.uint8() : this.uint16();
    const start = this.skip(length);
    return new Cursor(this.#bytes, start, start + length);
  }

  /** Everything was read. */
  finish(): void {
    if (this.left > 0) throw new Malformed("bytes too many in an extension");
  }
}
