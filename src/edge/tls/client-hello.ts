/** Parses a TLS ClientHello without taking part in the handshake (RFC 8446 §4.1.2, §5.1; RFC 5246 §7.4.1.2). */
import type { HelloFacts } from "../../traffic/connection-facts.ts";
import { ja4Of } from "./ja4.ts";
import type { HelloOffer } from "./ja4.ts";

/**
 * Lists of numbers as received, in Latin-1 with two characters per number. A hello is stored as long as its connection.
 */
interface Lists {
  readonly versions: string;
  readonly cipherSuites: string;
  readonly extensions: string;
  readonly signatureAlgorithms: string;
}

/** A received ClientHello. Rarely used properties are computed on demand. */
export class ClientHello implements HelloFacts, HelloOffer {
  /** Lower case, without a trailing dot. "" if the client names no server. */
  readonly serverName: string;
  /** Offered protocols in the client's order (RFC 7301). */
  readonly alpn: readonly string[];
  readonly #lists: Lists;
  #ja4: string | undefined;

  constructor(serverName: string, alpn: readonly string[], lists: Lists) {
    this.serverName = serverName;
    this.alpn = alpn;
    this.#lists = lists;
  }

  /** Offered versions, such as 0x0304 for TLS 1.3. */
  get versions(): readonly number[] {
    return numbersOf(this.#lists.versions);
  }

  get namesServer(): boolean {
    return this.extensions.includes(extensionServerName);
  }

  get cipherSuites(): readonly number[] {
    return numbersOf(this.#lists.cipherSuites);
  }

  /** Types in the client's order. */
  get extensions(): readonly number[] {
    return numbersOf(this.#lists.extensions);
  }

  get signatureAlgorithms(): readonly number[] {
    return numbersOf(this.#lists.signatureAlgorithms);
  }

  /** Fingerprint of the client. Computing it costs a hundredth of a handshake. */
  get ja4(): string {
    return (this.#ja4 ??= ja4Of(this));
  }
}

function numbersOf(list: string): readonly number[] {
  return Array.from(
    { length: list.length / 2 },
    (_, at) => (list.charCodeAt(2 * at) << 8) | list.charCodeAt(2 * at + 1),
  );
}

export type Peek =
  /** The hello is incomplete until at least `atLeast` bytes in total have arrived. */
  | { readonly state: "more"; readonly atLeast: number }
  | { readonly state: "invalid"; readonly reason: string; readonly alert: number }
  | { readonly state: "hello"; readonly hello: ClientHello };

/** Alert descriptions (RFC 8446 §6): another message, a record that is too long, a message that cannot be parsed. */
const unexpectedMessage = 10;
const recordOverflow = 22;
const decodeError = 50;

const maxRecordBytes = 16 * 1024;
/** Maximum size with records and headers, bytes. Browsers send under 2 kB. */
const maxClientHelloBytes = 16 * 1024;
/**
 * Maximum number of records. Clients that split a hello use a handful. Each new record repeats the parsing, so the cost
 * is quadratic.
 */
const maxRecords = 64;
/** Maximum number of extensions. Clients send about twenty of about sixty that exist. */
const maxExtensions = 128;

const recordHandshake = 22;
const handshakeClientHello = 1;
const extensionServerName = 0;
const extensionSignatureAlgorithms = 13;
const extensionAlpn = 16;
const extensionVersions = 43;
/** DNS labels have at most 63 characters. No certificate can have longer ones. */
const hostName = /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?$/;

/**
 * Parses the first `bytes` of a connection. The hello may be split into any records. Never throws. Needs at most
 * `maxClientHelloBytes`.
 */
export function peekClientHello(bytes: Buffer): Peek {
  const message = gatherHandshake(bytes);
  if ("state" in message) return message;
  try {
    return { state: "hello", hello: readHello(message) };
  } catch (error) {
    if (error instanceof Malformed) return rejectHello(error.message);
    throw error;
  }
}

/** Joins the records of the first handshake message and returns its body. */
function gatherHandshake(bytes: Buffer): Peek | Cursor {
  let message: Buffer | undefined;
  let wanted: number | undefined;
  for (let at = 0, records = 0; ; records += 1) {
    if (at + 5 > maxClientHelloBytes) return rejectHello("the ClientHello is too long");
    const first = bytes[at];
    if (first !== undefined && first !== recordHandshake)
      return rejectHello("not a handshake record", unexpectedMessage);
    if (at + 5 > bytes.length) return { state: "more", atLeast: at + 5 };
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at + 1] !== 3) return rejectHello("not a record of TLS");
    // RFC 8446 §5.4 and §5.1.
    if (length === 0) return rejectHello("an empty handshake record", unexpectedMessage);
    if (length > maxRecordBytes) return rejectHello("a record longer than there can be", recordOverflow);
    const end = at + 5 + length;
    if (end > maxClientHelloBytes) return rejectHello("the ClientHello is too long");
    if (end > bytes.length) return { state: "more", atLeast: end };
    if (records === maxRecords) return rejectHello("the ClientHello is in too many records");
    const part = bytes.subarray(at + 5, end);
    message = message === undefined ? part : Buffer.concat([message, part]);
    at = end;
    if (wanted === undefined && message.length >= 4) {
      if (message[0] !== handshakeClientHello) {
        return rejectHello("the first message is not a ClientHello", unexpectedMessage);
      }
      wanted = 4 + message.readUIntBE(1, 3);
      if (wanted > maxClientHelloBytes) return rejectHello("the ClientHello is too long");
    }
    if (wanted === undefined || message.length < wanted) continue;
    // No message may follow a ClientHello before the server has answered.
    if (message.length > wanted) return rejectHello("more than a ClientHello in its record", unexpectedMessage);
    return new Cursor(message, 4);
  }
}

/** Extension types of the current hello, two bytes each. */
const types = Buffer.alloc(2 * maxExtensions);

function readHello(body: Cursor): ClientHello {
  let versions = body.part(2).latin1();
  body.skip(32);
  if (body.vector(1).left > 32) throw new Malformed("the session id is too long");
  const cipherSuites = readNumbers(body.vector(2), "bad list of cipher suites");
  if (body.vector(1).left === 0) throw new Malformed("no compression method");
  let serverName = "";
  let alpn: string[] = [];
  let signatureAlgorithms = "";
  let typesEnd = 0;
  if (body.left > 0) {
    const extensions = body.vector(2);
    body.finish();
    while (extensions.left > 0) {
      const type = extensions.uint16();
      const value = extensions.vector(2);
      typesEnd = noteType(type, typesEnd);
      if (type === extensionServerName) serverName = readServerName(value);
      else if (type === extensionAlpn) alpn = readAlpn(value);
      else if (type === extensionVersions) versions = readVersions(value);
      else if (type === extensionSignatureAlgorithms) signatureAlgorithms = readAlgorithms(value);
    }
  }
  const extensions = types.latin1Slice(0, typesEnd);
  return new ClientHello(serverName, alpn, { versions, cipherSuites, extensions, signatureAlgorithms });
}

/** Adds a type after the first `end` bytes, all of which must differ. Returns the new end. */
function noteType(type: number, end: number): number {
  const [high, low] = [type >> 8, type & 0xff];
  for (let at = 0; at < end; at += 2) {
    if (types[at + 1] === low && types[at] === high) throw new Malformed("an extension occurs twice");
  }
  if (end === types.length) throw new Malformed("too many extensions");
  types[end] = high;
  types[end + 1] = low;
  return end + 2;
}

/** @param fault of an empty list, or of one that ends within a number */
function readNumbers(list: Cursor, fault: string): string {
  if (list.left === 0 || list.left % 2 !== 0) throw new Malformed(fault);
  return list.latin1();
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
  if (text.length > 254 || !hostName.test(text)) throw new Malformed("the server name is not a host name");
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

function readVersions(value: Cursor): string {
  const list = value.vector(1);
  value.finish();
  return readNumbers(list, "bad list of versions");
}

/** RFC 8446 §4.2.3. The handshake itself refuses an invalid list. */
function readAlgorithms(value: Cursor): string {
  if (value.left < 2) return "";
  const length = value.uint16();
  return length === value.left && length % 2 === 0 ? value.latin1() : "";
}

function rejectHello(reason: string, alert = decodeError): Peek {
  return { state: "invalid", reason, alert };
}

class Malformed extends Error {}

/** Reads forward through a part of `bytes` without copying. Throws `Malformed` if too few bytes are left. */
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

  /** Skips bytes. Returns the position of the first one. */
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

  /** Returns the remaining bytes, each as one character. */
  latin1(): string {
    return this.#bytes.latin1Slice(this.skip(this.left), this.#end);
  }

  part(length: number): Cursor {
    const start = this.skip(length);
    return new Cursor(this.#bytes, start, start + length);
  }

  /** Returns the bytes whose length a prefix of `lengthBytes` bytes gives. */
  vector(lengthBytes: 1 | 2): Cursor {
    return this.part(lengthBytes === 1 ? this.uint8() : this.uint16());
  }

  /** Checks that all bytes were read. */
  finish(): void {
    if (this.left > 0) throw new Malformed("bytes too many in an extension");
  }
}
