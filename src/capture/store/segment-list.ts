/** The segments on a node's disk, within the bound for all of them. */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { accountDirectory, readSegmentName, segmentFile } from "./segment-name.ts";
import type { SegmentName } from "./segment-name.ts";
import { hourMs } from "../../lib/durations.ts";

const mode = 0o700;

interface ListedSegment {
  readonly name: SegmentName;
  readonly file: string;
  size: number;
}

/** Bytes and segments of each account. Segments are listed oldest first. */
export class SegmentList {
  readonly #directory: string;
  readonly #maxBytes: number;
  readonly #accounts = new Map<string, { bytes: number; segments: ListedSegment[] }>();
  #bytes = 0;
  #lastNumber = 0;
  #deleted = 0;

  /** Reads the directory, and creates it if there is none. */
  constructor(directory: string, maxBytes: number) {
    this.#directory = directory;
    this.#maxBytes = maxBytes;
    mkdirSync(directory, { recursive: true, mode });
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      for (const file of readdirSync(join(directory, entry.name)).sort()) {
        const name = readSegmentName(file);
        if (name === undefined) continue;
        const path = join(directory, entry.name, file);
        this.#lastNumber = Math.max(this.#lastNumber, name.number);
        this.#put(entry.name, { name, file: path, size: statSync(path).size });
      }
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of segments that were deleted before their time to stay within the bound. */
  get deleted(): number {
    return this.#deleted;
  }

  /** Returns the file for a new segment. */
  begin(accountId: string, of: Omit<SegmentName, "number">): { readonly name: SegmentName; readonly file: string } {
    const directory = accountDirectory(this.#directory, accountId);
    mkdirSync(directory, { recursive: true, mode });
    const name = { ...of, number: (this.#lastNumber += 1) };
    const file = join(directory, segmentFile(name));
    this.#put(accountId, { name, file, size: 0 });
    return { name, file };
  }

  /** Sets the size of a segment, and deletes the oldest segments of the largest accounts while there is too much. */
  grown(accountId: string, number: number, size: number, isOpen: (file: string) => boolean): void {
    const account = this.#accounts.get(accountId);
    const segment = account?.segments.findLast(({ name }) => name.number === number);
    if (account === undefined || segment === undefined) return;
    account.bytes += size - segment.size;
    this.#bytes += size - segment.size;
    segment.size = size;
    while (this.#bytes > this.#maxBytes && this.#deleteOldest(isOpen)) this.#deleted += 1;
  }

  /** Deletes the segments whose time is over. */
  expire(nowMs: number): void {
    const hour = Math.floor(nowMs / hourMs);
    for (const [accountId, { segments }] of this.#accounts) {
      const isOver = ({ name }: ListedSegment): boolean => name.hour + name.keptHours < hour;
      for (const segment of segments.filter(isOver)) this.#delete(accountId, segment);
    }
  }

  #put(accountId: string, segment: ListedSegment): void {
    let account = this.#accounts.get(accountId);
    if (account === undefined) this.#accounts.set(accountId, (account = { bytes: 0, segments: [] }));
    account.segments.push(segment);
    account.bytes += segment.size;
    this.#bytes += segment.size;
  }

  /** Returns false if there is nothing to delete. */
  #deleteOldest(isOpen: (file: string) => boolean): boolean {
    const largestFirst = [...this.#accounts].sort(([, one], [, other]) => other.bytes - one.bytes);
    for (const [accountId, { segments }] of largestFirst) {
      const oldest = segments.find(({ file }) => !isOpen(file));
      if (oldest === undefined) continue;
      this.#delete(accountId, oldest);
      return true;
    }
    return false;
  }

  #delete(accountId: string, segment: ListedSegment): void {
    const account = this.#accounts.get(accountId);
    if (account === undefined) return;
    rmSync(segment.file, { force: true });
    account.segments = account.segments.filter((one) => one !== segment);
    account.bytes -= segment.size;
    this.#bytes -= segment.size;
    if (account.segments.length > 0) return;
    this.#accounts.delete(accountId);
  }
}
