/** Writes one node's captured requests: redacts them, and appends them to the segment of their account and hour. */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { ownerOf } from "../format/facts.ts";
import { readBatch } from "../format/record-copier.ts";
import type { BatchRecord, RecordOwner } from "../format/record-copier.ts";
import { redactionOf } from "./redact.ts";
import { ruleOfNote } from "../rule.ts";
import { AccountKeys } from "./capture-keys.ts";
import type { CapturePlaces } from "./read-records.ts";
import { SegmentList } from "./segment-list.ts";
import { SegmentWriter } from "./segment-writer.ts";
import { hourMs } from "../../lib/durations.ts";

export interface CaptureStoreOptions extends CapturePlaces {
  /** Maximum bytes of all segments. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Maximum time that a record waits in memory, milliseconds. */
  readonly flushMs?: number;
}

export interface CaptureCounts {
  readonly written: number;
  /** Records that the disk did not take. */
  readonly lost: number;
  readonly bytes: number;
}

/** With the time that records wait at the edge, a crash loses at most the last second. */
const defaultFlushMs = 750;
/** Bytes with which a segment is full. */
const segmentBytes = 4 * 1024 * 1024;
/** Maximum number of segments that are open at a time. */
const maxOpen = 256;
/** Maximum number of decisions whose owner is remembered. */
const maxOwners = 1_000;

interface Owner extends RecordOwner {
  readonly accountId: string;
  readonly keptHours: number;
  readonly keys: AccountKeys;
  /** Key of its segment. */
  readonly segment: string;
}

export class CaptureStore {
  readonly #options: CaptureStoreOptions;
  readonly #list: SegmentList;
  readonly #keys = new Map<string, AccountKeys>();
  /** Open segments by account and kept hours, the longest unused first. */
  readonly #open = new Map<string, { readonly accountId: string; readonly writer: SegmentWriter }>();
  readonly #files = new Set<string>();
  /** Owners by the texts of decisions. */
  readonly #owners = new Map<string, Owner>();
  #timer: Timer | undefined;
  #expiredHour = Number.NaN;
  #written = 0;
  #lost = 0;
  #isFailing = false;

  /** Throws if the directory cannot be read or created. */
  constructor(options: CaptureStoreOptions) {
    this.#options = options;
    this.#list = new SegmentList(options.directory, options.maxBytes);
    this.#expire();
  }

  get counts(): CaptureCounts {
    return { written: this.#written, lost: this.#lost, bytes: this.#list.bytes };
  }

  /** Writes the records of a batch of `RecordWriter`. */
  take(batch: Buffer): void {
    const { clock, flushMs = defaultFlushMs } = this.#options;
    this.#timer ??= clock.after(flushMs, () => this.flush());
    const hour = this.#hour();
    readBatch(
      batch,
      (decision) => this.#ownerOf(decision),
      (record) => this.#add(record, hour),
    );
  }

  /** Notes that the traffic threads dropped records of the account. */
  dropped(accountId: string, count: number): void {
    for (const { accountId: id, writer } of this.#open.values()) {
      if (id !== accountId) continue;
      writer.dropped(count);
      return;
    }
  }

  /** Writes everything that waits in memory, and starts to store it on the disk. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const hour = this.#hour();
    for (const [key, { accountId, writer }] of this.#open) {
      this.#write(accountId, writer);
      if (writer.name.hour !== hour) this.#close(key);
      else void writer.sync().then((error) => error && this.#failed(error, 0));
    }
    if (hour !== this.#expiredHour) this.#expire();
  }

  /** Writes everything, and closes all segments. */
  close(): void {
    this.flush();
    for (const key of Array.from(this.#open.keys())) this.#close(key);
  }

  #add(record: BatchRecord<Owner>, hour: number): void {
    try {
      const writer = this.#writerOf(record.owner, hour);
      if (writer.add(record)) this.#write(record.owner.accountId, writer);
    } catch (error) {
      this.#failed(error, 1);
    }
  }

  #ownerOf(decision: string): Owner {
    let owner = this.#owners.get(decision);
    if (owner !== undefined) return owner;
    const { accountId, note } = ownerOf(decision);
    const rule = ruleOfNote(note);
    const keys = this.#keysOf(accountId);
    const redaction = redactionOf(rule, (value, receivedAt) => keys.hash(value, receivedAt / 1000));
    owner = { ...redaction, accountId, keptHours: rule.hours, keys, segment: `${accountId} ${rule.hours}` };
    if (this.#owners.size >= maxOwners) this.#owners.clear();
    this.#owners.set(decision, owner);
    return owner;
  }

  #writerOf({ accountId, keptHours, keys, segment: key }: Owner, hour: number): SegmentWriter {
    const found = this.#open.get(key);
    if (found !== undefined && found.writer.name.hour === hour && found.writer.size < segmentBytes) {
      return found.writer;
    }
    if (found !== undefined) this.#close(key);
    const keyId = keys.newestId;
    const sealing = keys.sealing(keyId);
    if (sealing === undefined) throw new Error("capture requests: there is no data key");
    const { name, file } = this.#list.begin(accountId, { hour, keptHours, keyId });
    const writer = new SegmentWriter(accountId, name, file, sealing);
    this.#open.set(key, { accountId, writer });
    this.#files.add(file);
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= maxOpen) break;
      this.#close(oldest);
    }
    return writer;
  }

  #write(accountId: string, writer: SegmentWriter): void {
    const { waiting } = writer;
    if (waiting === 0) return;
    try {
      writer.write();
      this.#written += waiting;
      if (this.#isFailing) this.#options.log.info("captured requests are written again");
      this.#isFailing = false;
    } catch (error) {
      this.#failed(error, waiting);
      // The next record begins another segment, whose folder is made again if it was removed.
      if (writer.size === 0) this.#forget(writer);
    }
    this.#list.grown(accountId, writer.name.number, writer.size, (file) => this.#files.has(file));
  }

  #close(key: string): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    const { accountId, writer } = open;
    this.#write(accountId, writer);
    this.#open.delete(key);
    this.#files.delete(writer.file);
    try {
      writer.close();
    } catch (error) {
      this.#failed(error, 0);
    }
    this.#list.grown(accountId, writer.name.number, writer.size, (file) => this.#files.has(file));
  }

  #forget(writer: SegmentWriter): void {
    this.#files.delete(writer.file);
    for (const [key, open] of this.#open) if (open.writer === writer) this.#open.delete(key);
  }

  #keysOf(accountId: string): AccountKeys {
    let keys = this.#keys.get(accountId);
    if (keys === undefined) this.#keys.set(accountId, (keys = new AccountKeys(accountId, this.#options.keys)));
    return keys;
  }

  #hour(): number {
    return Math.floor(this.#options.clock.now() / hourMs);
  }

  #expire(): void {
    this.#expiredHour = this.#hour();
    try {
      this.#list.expire(this.#options.clock.now());
    } catch (error) {
      this.#options.log.error("captured requests whose time is over cannot be deleted", { error });
    }
  }

  #failed(error: unknown, lost: number): void {
    this.#lost += lost;
    if (!this.#isFailing) this.#options.log.error("captured requests cannot be written: they are lost", { error });
    this.#isFailing = true;
  }
}
