/**
 * Copies records of batches into the blocks of segments. Most bytes are copied as they are. Secret values are replaced
 * where they occur first, so a connection's equal header fields cost nothing again.
 */
import { ByteReader } from "./byte-reader.ts";
import { ByteWriter, TextPart } from "./byte-writer.ts";
import type { HeadLines } from "./head-lines.ts";
import { flags, formatVersion } from "./layout.ts";
import { writeTarget } from "./record-writer.ts";

/** What the records of one account and rule have in common. */
export interface RecordOwner {
  /** Returns the lines without secret values. */
  head(lines: HeadLines, receivedAt: number): HeadLines;
  /** Returns the target without secret values. Undefined if targets have none. */
  readonly target: ((target: string, receivedAt: number) => string) | undefined;
}

/** Encoded bytes of another buffer. */
interface Piece {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** A part of a batch, and its copy in a block. */
interface BatchPart<Owner> {
  readonly text: string;
  owner: Owner | undefined;
  copy: PartCopy | undefined;
  copyIn: RecordCopier | undefined;
  target: Piece | undefined;
  head: HeadLines | undefined;
  response: HeadLines | undefined;
}

/** The part in a block, with what the connection's previous record there had. */
class PartCopy extends TextPart {
  target: Piece | undefined;
  head: HeadLines | undefined;
  response: HeadLines | undefined;
}

/** A record of a batch. To be copied before the next one is read. */
export interface BatchRecord<Owner> {
  readonly owner: Owner;
  readonly receivedAt: number;
  readonly flags: number;
  readonly connection: BatchPart<Owner>;
  readonly decision: BatchPart<Owner>;
  readonly bytes: Buffer;
  /** Id, times and sizes. */
  readonly fixedStart: number;
  readonly fixedEnd: number;
  /** With its length. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

const scratch = new ByteWriter();

/**
 * Reads the records of a batch.
 * @param ownerOf returns the owner for the text of a decision
 */
export function readBatch<Owner extends RecordOwner>(
  bytes: Buffer,
  ownerOf: (decision: string) => Owner,
  take: (record: BatchRecord<Owner>) => void,
): void {
  if (bytes.length === 0) return;
  const from = new ByteReader(bytes);
  if (from.byte() !== formatVersion) throw new Error("read captured requests: their format is unknown");
  const parts: BatchPart<Owner>[] = [];
  const part = (): BatchPart<Owner> => {
    const number = from.number();
    if (number > 0) return parts[number - 1] as BatchPart<Owner>;
    const none = undefined;
    const text = from.text();
    const added = { text, owner: none, copy: none, copyIn: none, target: none, head: none, response: none };
    parts.push(added);
    return added;
  };
  let lastAt = 0;
  while (!from.isAtEnd) {
    const connection = part();
    const decision = part();
    const owner = (decision.owner ??= ownerOf(decision.text));
    lastAt += from.difference();
    const set = from.number();
    const fixedStart = from.position;
    from.piece();
    for (let count = 0; count < 4; count += 1) from.number();
    const fixedEnd = from.position;
    if ((set & flags.sameTarget) === 0) connection.target = readTarget(from, owner, lastAt);
    if ((set & flags.sameHead) === 0) connection.head = owner.head(readLines(from), lastAt);
    if ((set & flags.upstream) !== 0 && (set & flags.sameResponse) === 0) {
      connection.response = owner.head(readLines(from), lastAt);
    }
    const bodyStart = from.position;
    if ((set & flags.body) !== 0) from.piece();
    const bodyEnd = from.position;
    const receivedAt = lastAt;
    take({ owner, receivedAt, flags: set, connection, decision, bytes, fixedStart, fixedEnd, bodyStart, bodyEnd });
  }
}

function readTarget(from: ByteReader, owner: RecordOwner, receivedAt: number): Piece {
  const { bytes, position: start } = from;
  if (owner.target === undefined) {
    from.piece();
    if (from.number() === 0) from.piece();
    return { bytes, start, end: from.position };
  }
  const target = from.text();
  const length = from.number();
  const path = length === 0 ? from.text() : target.slice(0, length - 1);
  writeTarget(scratch, owner.target(target, receivedAt), path);
  const written = scratch.take();
  return { bytes: written, start: 0, end: written.length };
}

function readLines(from: ByteReader): HeadLines {
  const linesStart = from.piece();
  return { bytes: from.bytes, linesStart, linesEnd: from.position };
}

/** Writes the records of one block after another. */
export class RecordCopier {
  readonly #out = new ByteWriter();
  #parts = new Map<string, PartCopy>();
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
    this.#parts = new Map();
    this.#lastAt = 0;
    this.#count = 0;
    return this.#out.take();
  }

  add<Owner extends RecordOwner>(record: BatchRecord<Owner>): void {
    const out = this.#out;
    if (this.#count === 0) out.byte(formatVersion);
    this.#count += 1;
    const { target, head, response } = record.connection;
    const connection = this.#copyOf(record.connection);
    out.part(connection);
    out.part(this.#copyOf(record.decision));
    out.difference(record.receivedAt - this.#lastAt);
    this.#lastAt = record.receivedAt;
    const hasResponse = (record.flags & flags.upstream) !== 0;
    const sameTarget = target === connection.target;
    const sameHead = head === connection.head;
    const sameResponse = hasResponse && response === connection.response;
    const unchanged = record.flags & ~(flags.sameTarget | flags.sameHead | flags.sameResponse);
    out.number(
      unchanged |
        (sameTarget ? flags.sameTarget : 0) |
        (sameHead ? flags.sameHead : 0) |
        (sameResponse ? flags.sameResponse : 0),
    );
    out.copy(record.bytes, record.fixedStart, record.fixedEnd);
    if (!sameTarget && target !== undefined) out.copy(target.bytes, target.start, target.end);
    if (!sameHead && head !== undefined) out.piece(head.bytes, head.linesStart, head.linesEnd);
    if (hasResponse && !sameResponse && response !== undefined) {
      out.piece(response.bytes, response.linesStart, response.linesEnd);
      connection.response = response;
    }
    if (record.bodyEnd > record.bodyStart) out.copy(record.bytes, record.bodyStart, record.bodyEnd);
    connection.target = target;
    connection.head = head;
  }

  #copyOf<Owner>(part: BatchPart<Owner>): PartCopy {
    let { copy } = part;
    if (copy !== undefined && part.copyIn === this && copy.generation === this.#out.generation) return copy;
    const { text } = part;
    copy = this.#parts.get(text);
    if (copy === undefined) this.#parts.set(text, (copy = new PartCopy(text)));
    part.copy = copy;
    part.copyIn = this;
    return copy;
  }
}
