/**
 * Writes records one after another. A record refers to the texts of its connection and of its decision, and to the
 * target and header fields of the connection's previous record if they are equal. So a usual request takes about
 * 50 bytes, and the traffic thread about a microsecond.
 */
import { ByteWriter, TextPart } from "./byte-writer.ts";
import type { HeadLines } from "./head-lines.ts";
import { flags, formatVersion } from "./layout.ts";

/** What differs between the requests of a client. */
export interface NotedRequest {
  readonly requestId: { write(target: Buffer, at: number): number };
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  readonly durationMs: number;
  /** Undefined if no upstream responded. */
  readonly waitedMs: number | undefined;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly cutShort: boolean;
  readonly path: string;
  readonly request: { readonly target: string; readonly headers: HeadLines };
  readonly responded: { readonly fields: HeadLines } | undefined;
  readonly capturedBody: Buffer | undefined;
}

/** The text of a connection, and what its previous record had. */
export class ConnectionPart extends TextPart {
  /** The writer's generation in which the other members are valid. */
  lastIn = -1;
  target = "";
  path = "";
  readonly head = new WrittenLines();
  readonly response = new WrittenLines();

  /** The next record is not compared with the previous one: they belong to different accounts. */
  forget(): void {
    this.lastIn = -1;
  }
}

/** Where the lines were written. */
class WrittenLines {
  at = -1;
  length = 0;
}

export class RecordWriter {
  readonly #out = new ByteWriter();
  #lastAt = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  get length(): number {
    return this.#out.length;
  }

  /** Returns the bytes of all records since the last call. */
  take(): Buffer<ArrayBuffer> {
    this.#lastAt = 0;
    this.#count = 0;
    return this.#out.take();
  }

  add(connection: ConnectionPart, decision: TextPart, noted: NotedRequest): void {
    const out = this.#out;
    const { request, responded, path, waitedMs, capturedBody } = noted;
    const { target, headers } = request;
    if (this.#count === 0) out.byte(formatVersion);
    this.#count += 1;
    if (connection.lastIn !== out.generation) {
      connection.lastIn = out.generation;
      connection.head.at = -1;
      connection.response.at = -1;
    }
    const isFirst = connection.head.at < 0;
    const sameTarget = !isFirst && target === connection.target && path === connection.path;
    const sameHead = this.#isSame(connection.head, headers);
    const sameResponse = responded !== undefined && this.#isSame(connection.response, responded.fields);
    out.part(connection);
    out.part(decision);
    const receivedAt = Math.round(noted.receivedAt * 1000);
    out.difference(receivedAt - this.#lastAt);
    this.#lastAt = receivedAt;
    out.number(
      (sameTarget ? flags.sameTarget : 0) |
        (sameHead ? flags.sameHead : 0) |
        (sameResponse ? flags.sameResponse : 0) |
        (responded === undefined ? 0 : flags.upstream) |
        (capturedBody === undefined ? 0 : flags.body) |
        (noted.cutShort ? flags.cutShort : 0),
    );
    out.written(noted.requestId);
    out.number(noted.durationMs * 1000);
    out.number((waitedMs ?? 0) * 1000);
    out.number(noted.bytesIn);
    out.number(noted.bytesOut);
    if (!sameTarget) {
      connection.target = target;
      connection.path = path;
      writeTarget(out, target, path);
    }
    if (!sameHead) this.#lines(connection.head, headers);
    if (responded !== undefined && !sameResponse) this.#lines(connection.response, responded.fields);
    if (capturedBody !== undefined) out.piece(capturedBody, 0, capturedBody.length);
  }

  #isSame({ at, length }: WrittenLines, { bytes, linesStart, linesEnd }: HeadLines): boolean {
    return at >= 0 && length === linesEnd - linesStart && this.#out.equals(at, bytes, linesStart, linesEnd);
  }

  #lines(written: WrittenLines, { bytes, linesStart, linesEnd }: HeadLines): void {
    written.at = this.#out.piece(bytes, linesStart, linesEnd);
    written.length = linesEnd - linesStart;
  }
}

/** Most paths are the start of their target. Then the length of the path plus one is written, otherwise 0 and the path. */
export function writeTarget(out: ByteWriter, target: string, path: string): void {
  out.text(target);
  const isStart = target.startsWith(path) && isEnd(target[path.length]);
  out.number(isStart ? path.length + 1 : 0);
  if (!isStart) out.text(path);
}

function isEnd(character: string | undefined): boolean {
  return character === undefined || character === "?";
}
