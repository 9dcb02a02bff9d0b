/** One segment that is being written: blocks are appended, and the index is written at the end. */
import { closeSync, fdatasync, ftruncateSync, openSync, writeSync } from "node:fs";
import type { KeyObject } from "node:crypto";
import { RecordCopier } from "../format/record-copier.ts";
import type { BatchRecord, RecordOwner } from "../format/record-copier.ts";
import { sealBlock } from "./block.ts";
import { blockContext } from "./segment-name.ts";
import type { SegmentName } from "./segment-name.ts";
import { renderIndex } from "./segment-index.ts";
import type { BlockPlace } from "./segment-index.ts";

/** Bytes of records in memory with which a block is full. */
const blockBytes = 128 * 1024;
/** Maximum number of records of a block. */
const maxCount = 10_000;
const mode = 0o600;

export class SegmentWriter {
  readonly name: SegmentName;
  readonly file: string;
  readonly #key: KeyObject;
  readonly #context: string;
  readonly #records = new RecordCopier();
  readonly #blocks: BlockPlace[] = [];
  #descriptor: number | undefined;
  #size = 0;
  #minAt = Infinity;
  #maxAt = -Infinity;
  #dropped = 0;
  #isSynced = true;

  constructor(accountId: string, name: SegmentName, file: string, key: KeyObject) {
    this.name = name;
    this.file = file;
    this.#key = key;
    this.#context = blockContext(accountId, name);
  }

  /** Bytes on disk. */
  get size(): number {
    return this.#size;
  }

  /** Records that are not on disk yet. */
  get waiting(): number {
    return this.#records.count;
  }

  /** Returns whether the block is full, so that `write` is due. */
  add(record: BatchRecord<RecordOwner>): boolean {
    this.#records.add(record);
    if (record.receivedAt < this.#minAt) this.#minAt = record.receivedAt;
    if (record.receivedAt > this.#maxAt) this.#maxAt = record.receivedAt;
    return this.#records.length >= blockBytes || this.#records.count >= maxCount;
  }

  /** Notes that records of this segment were lost. */
  dropped(count: number): void {
    this.#dropped += count;
  }

  /**
   * Appends the waiting records as a block. Throws if the disk takes none; the records are then lost, and counted in
   * the next block.
   */
  write(): void {
    const { count } = this.#records;
    if (count === 0) return;
    const [minAt, maxAt, dropped] = [this.#minAt, this.#maxAt, this.#dropped];
    const raw = this.#records.take();
    [this.#minAt, this.#maxAt] = [Infinity, -Infinity];
    const facts = { count, minAt, maxAt, dropped };
    try {
      const block = sealBlock(raw, facts, this.#key, this.#context);
      this.#append(block);
      this.#blocks.push({ ...facts, length: block.length, rawLength: raw.length, offset: this.#size });
      this.#size += block.length;
      this.#dropped = 0;
    } catch (error) {
      this.#dropped += count;
      throw error;
    }
  }

  /** Has the written blocks stored on the disk. Resolves when they are, or with the error. */
  sync(): Promise<Error | undefined> {
    const descriptor = this.#descriptor;
    if (this.#isSynced || descriptor === undefined) return Promise.resolve(undefined);
    this.#isSynced = true;
    return new Promise((resolve) => {
      fdatasync(descriptor, (error) => resolve(error ?? undefined));
    });
  }

  /** Writes the index and closes the file. A segment without an index can be read, too. */
  close(): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    try {
      const index = renderIndex(this.#blocks);
      this.#append(index);
      this.#size += index.length;
    } finally {
      this.#descriptor = undefined;
      closeSync(descriptor);
    }
  }

  #append(bytes: Buffer): void {
    this.#descriptor ??= openSync(this.file, "wx", mode);
    let written = 0;
    try {
      while (written < bytes.length) {
        written += writeSync(this.#descriptor, bytes, written, bytes.length - written, this.#size + written);
      }
    } catch (error) {
      if (written > 0) ftruncateSync(this.#descriptor, this.#size);
      throw error;
    }
    this.#isSynced = false;
  }
}
