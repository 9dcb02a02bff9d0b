/** Reads the records that `RecordWriter` has written. */
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { CapturedRequest } from "../record.ts";
import { ByteReader } from "./byte-reader.ts";
import { flags, httpVersions, idPrefix, outcomes, rawMark } from "./layout.ts";

export interface NotedRecord {
  readonly record: CapturedRequest;
  readonly note: string;
}

/** Yields the records in the order in which they were added. Throws if the bytes are not records. */
export function* recordsIn(bytes: Buffer): Generator<NotedRecord> {
  const reader = new RecordReader(bytes);
  while (!reader.isAtEnd) yield reader.next();
}

class RecordReader {
  readonly #in: ByteReader;
  #lastAt = 0;
  /** Parsed words by their text. They repeat, and readers must not change them. */
  readonly #parsed = new Map<string, unknown>();
  readonly #names = new Map<string, readonly string[]>();
  readonly #certificates = new Map<string, Buffer>();

  constructor(bytes: Buffer) {
    this.#in = new ByteReader(bytes);
  }

  get isAtEnd(): boolean {
    return this.#in.isAtEnd;
  }

  next(): NotedRecord {
    const from = this.#in;
    const note = from.word();
    const id = from.text();
    const receivedAt = this.#lastAt + from.difference();
    this.#lastAt = receivedAt;
    const set = from.number();
    const has = (flag: number): boolean => (set & flag) !== 0;
    const record: CapturedRequest = {
      id: id.startsWith("!") ? id.slice(1) : idPrefix + id,
      receivedAt,
      nodeId: from.word(),
      edge: from.number(),
      accountId: from.word(),
      siteId: from.word(),
      routeId: has(flags.route) ? from.word() : undefined,
      revision: from.number(),
      request: this.#request(set),
      connection: this.#connection(set),
      visitor: has(flags.visitor) ? (this.#json() as CapturedRequest["visitor"]) : undefined,
      decision: this.#decision(set),
      upstream: has(flags.upstream)
        ? { status: from.number(), headers: this.#fields(), waitedMs: from.number() / 1000 }
        : undefined,
      durationMs: from.number() / 1000,
      bytesIn: from.number(),
      bytesOut: from.number(),
      cutShort: has(flags.cutShort),
    };
    return { record, note };
  }

  #request(set: number): CapturedRequest["request"] {
    const from = this.#in;
    const method = from.word();
    const httpVersion = httpVersions[from.byte()] as CapturedRequest["request"]["httpVersion"];
    const authority = from.word();
    const target = from.word();
    const length = from.number();
    const path = length === 0 ? from.word() : target.slice(0, length - 1);
    const headers = this.#fields();
    const redacted = this.#lines(from.word());
    const body = (set & flags.body) === 0 ? undefined : from.bytes();
    const scheme = (set & flags.https) === 0 ? "http" : "https";
    const websocket = (set & flags.websocket) !== 0;
    const upgrade = from.word();
    return { method, scheme, httpVersion, authority, target, path, headers, redacted, body, websocket, upgrade };
  }

  #fields(): HeaderPairs {
    const names = this.#in.word();
    if (names === rawMark) return this.#rawFields();
    return this.#lines(names).map((name) => [name, this.#in.word()] as const);
  }

  #rawFields(): HeaderPairs {
    const places = this.#in.shorts();
    const bytes = this.#in.bytes();
    const fields: (readonly [string, string])[] = [];
    for (let at = 0; at < places.length; at += 4) {
      const name = bytes.latin1Slice(places[at] as number, places[at + 1] as number).toLowerCase();
      fields.push([name, bytes.latin1Slice(places[at + 2] as number, places[at + 3] as number)]);
    }
    return fields;
  }

  #connection(set: number): CapturedRequest["connection"] {
    const from = this.#in;
    const source = from.word();
    const sourcePort = from.number();
    const local = from.word();
    const localAddress = (set & flags.localAddress) === 0 ? undefined : local;
    const localPort = from.number();
    const startedAt = (this.#lastAt - from.difference()) / 1000;
    if ((set & flags.tls) === 0) return { source, sourcePort, localAddress, localPort, startedAt, tls: undefined };
    const [version = "", cipher = "", serverName = "", alpn = "", ja4 = "", ...offeredAlpn] = this.#lines(from.word());
    const certificate = from.word();
    const clientCertificate = (set & flags.certificate) === 0 ? undefined : this.#certificate(certificate);
    const tls = { version, cipher, serverName, alpn, offeredAlpn, ja4, clientCertificate };
    return { source, sourcePort, localAddress, localPort, startedAt, tls };
  }

  #decision(set: number): CapturedRequest["decision"] {
    const from = this.#in;
    const steps: CapturedRequest["decision"]["steps"][number][] = [];
    for (let left = from.number(); left > 0; left -= 1) {
      steps.push(this.#json() as CapturedRequest["decision"]["steps"][number]);
    }
    return {
      steps,
      outcome: outcomes[from.byte()] as CapturedRequest["decision"]["outcome"],
      status: from.number(),
      errorCode: (set & flags.errorCode) === 0 ? undefined : from.word(),
      backendId: (set & flags.backend) === 0 ? undefined : from.word(),
      tunnel: (set & flags.tunnel) === 0 ? undefined : (this.#json() as CapturedRequest["decision"]["tunnel"]),
    };
  }

  #json(): unknown {
    const text = this.#in.word();
    let value = this.#parsed.get(text);
    if (value === undefined) this.#parsed.set(text, (value = JSON.parse(text) as unknown));
    return value;
  }

  #lines(text: string): readonly string[] {
    let lines = this.#names.get(text);
    if (lines === undefined) this.#names.set(text, (lines = text === "" ? [] : text.split("\n")));
    return lines;
  }

  #certificate(text: string): Buffer {
    let bytes = this.#certificates.get(text);
    if (bytes === undefined) this.#certificates.set(text, (bytes = Buffer.from(text, "base64")));
    return bytes;
  }
}
