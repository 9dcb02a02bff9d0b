/** Reads the records that `RecordWriter` and `RecordCopier` have written. */
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { CapturedRequest } from "../captured-request.ts";
import { ByteReader } from "./byte-reader.ts";
import { readConnection, readDecision } from "./facts.ts";
import type { ConnectionFacts, ReadDecision } from "./facts.ts";
import { fieldsIn } from "./head-lines.ts";
import type { ReadFields } from "./head-lines.ts";
import { flags, formatVersion } from "./layout.ts";

export interface NotedRecord {
  readonly record: CapturedRequest;
  readonly note: string;
}

/**
 * Yields the records in the order in which they were added. Equal parts of records are the same objects, so readers
 * must not change them. Throws if the bytes are not records.
 */
export function* recordsIn(bytes: Buffer): Generator<NotedRecord> {
  const reader = new RecordReader(bytes);
  while (!reader.isAtEnd) yield reader.next();
}

/** A text, what it means, and what the previous record of a connection had. */
interface ReadPart {
  readonly text: string;
  connection: ConnectionFacts | undefined;
  decision: ReadDecision | undefined;
  target: string;
  path: string;
  head: ReadFields;
  response: HeaderPairs;
}

const noFields: ReadFields = Object.freeze({ fields: [], redacted: [] });

class RecordReader {
  readonly #in: ByteReader;
  readonly #parts: ReadPart[] = [];
  #lastAt = 0;

  constructor(bytes: Buffer) {
    this.#in = new ByteReader(bytes);
    if (bytes.length > 0 && this.#in.byte() !== formatVersion) {
      throw new Error("read a captured request: its format is unknown");
    }
  }

  get isAtEnd(): boolean {
    return this.#in.isAtEnd;
  }

  next(): NotedRecord {
    const from = this.#in;
    const last = this.#part();
    const connection = (last.connection ??= readConnection(last.text));
    const part = this.#part();
    const facts = (part.decision ??= readDecision(part.text));
    const { request } = facts;
    const receivedAt = this.#lastAt + from.difference();
    this.#lastAt = receivedAt;
    const set = from.number();
    const id = from.text();
    const durationMs = from.number() / 1000;
    const waitedMs = from.number() / 1000;
    const bytesIn = from.number();
    const bytesOut = from.number();
    if ((set & flags.sameTarget) === 0) this.#target(last);
    if ((set & flags.sameHead) === 0) last.head = this.#lines();
    const hasUpstream = (set & flags.upstream) !== 0;
    if (hasUpstream && (set & flags.sameResponse) === 0) last.response = this.#lines().fields;
    const { target, path, head, response } = last;
    const record: CapturedRequest = {
      id,
      receivedAt,
      nodeId: facts.nodeId,
      edge: facts.edge,
      accountId: facts.accountId,
      siteId: facts.siteId,
      routeId: facts.routeId,
      revision: facts.revision,
      request: {
        method: request.method,
        scheme: request.scheme,
        httpVersion: request.httpVersion,
        authority: request.authority,
        target,
        path,
        headers: head.fields,
        redacted: head.redacted,
        body: (set & flags.body) === 0 ? undefined : this.#bytes(),
        websocket: request.websocket,
        upgrade: request.upgrade,
      },
      connection,
      visitor: facts.visitor,
      decision: facts.decision,
      upstream: hasUpstream ? { status: facts.upstreamStatus, headers: response, waitedMs } : undefined,
      durationMs,
      bytesIn,
      bytesOut,
      cutShort: (set & flags.cutShort) !== 0,
    };
    return { record, note: facts.note };
  }

  #part(): ReadPart {
    const number = this.#in.number();
    if (number === 0) {
      const text = this.#in.text();
      const [connection, decision] = [undefined, undefined];
      const part: ReadPart = { text, connection, decision, target: "", path: "", head: noFields, response: [] };
      this.#parts.push(part);
      return part;
    }
    const known = this.#parts[number - 1];
    if (known === undefined) throw new Error(`read a captured request: there is no part ${number}`);
    return known;
  }

  #target(last: ReadPart): void {
    const target = this.#in.text();
    const length = this.#in.number();
    last.target = target;
    last.path = length === 0 ? this.#in.text() : target.slice(0, length - 1);
  }

  #lines(): ReadFields {
    const linesStart = this.#in.piece();
    const { bytes, position } = this.#in;
    return fieldsIn({ bytes, linesStart, linesEnd: position });
  }

  #bytes(): Buffer {
    const start = this.#in.piece();
    return Buffer.from(this.#in.bytes.subarray(start, this.#in.position));
  }
}
