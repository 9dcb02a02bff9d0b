/**
 * The file of the access log, in the server's main thread. Writes run outside of every thread that carries traffic, one
 * at a time. The edges bound how much waits here.
 */
import { close, constants, fstatSync, open, openSync, write } from "node:fs";
import { promisify } from "node:util";
import type { AccessBatch, AccessWritten } from "../../lib/access-fields.ts";
import { runUnattended } from "../../lib/boundary.ts";
import type { Log } from "../../lib/log.ts";
import type { AccessLogSettings } from "../../settings/access-log.ts";
import { Failure } from "../process/exit.ts";

const writeTo: (descriptor: number, bytes: Uint8Array) => Promise<{ readonly bytesWritten: number }> = promisify(write);
const openFile = promisify(open);
const closeFile = promisify(close);

/** Appends; a pipe without a reader, or with a slow one, blocks no thread. */
const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);
const mode = 0o640;
const standardOutput = 1;
/** Pause before the next attempt to write to a full pipe, milliseconds. */
const fullPipeMs = 20;
/** How long the end of the server waits for the last lines, milliseconds. */
const closeMs = 2_000;

export type AccessWrittenBack = (result: AccessWritten) => void;

interface PendingBatch {
  readonly batch: AccessBatch;
  readonly written: AccessWrittenBack;
}

export class AccessLogFile {
  readonly #place: string;
  readonly #log: Log;
  #descriptor: number;
  readonly #waiting: PendingBatch[] = [];
  #running: Promise<void> | undefined;
  #mustReopen = false;
  #isClosing = false;
  /** The file ends within a line, because the rest of it could not be written. */
  #isTorn = false;
  #isFailing = false;

  /** Throws `Failure` (usage) if the file cannot be opened. @param place an absolute path, or `-` */
  constructor(place: string, log: Log) {
    this.#place = place;
    this.#log = log;
    try {
      this.#descriptor = place === "-" ? openOutput() : openSync(place, flags, mode);
    } catch (error) {
      const why = (error as Error).message;
      throw new Failure(
        "usage",
        `cannot open the access log "${place}" (${why}): create its directory and let the server's user write there, or choose another file with --access-log`,
        { cause: error },
      );
    }
  }

  write(batch: AccessBatch, written: AccessWrittenBack): void {
    this.#waiting.push({ batch, written });
    this.#run();
  }

  /** Opens the file again under its name, after the batch that is being written: a log rotator has renamed the file. */
  reopen(): void {
    if (this.#place === "-") return;
    this.#mustReopen = true;
    this.#run();
  }

  /** Writes the waiting lines, within a bound. */
  async close(): Promise<void> {
    const bound = Promise.withResolvers<void>();
    const timer = setTimeout(bound.resolve, closeMs);
    await Promise.race([this.#running, bound.promise]);
    clearTimeout(timer);
    this.#isClosing = true;
  }

  #run(): void {
    if (this.#running !== undefined) return;
    this.#running = this.#writeAll().finally(() => (this.#running = undefined));
    runUnattended("task", this.#running);
  }

  async #writeAll(): Promise<void> {
    for (;;) {
      if (this.#mustReopen) await this.#reopen();
      const next = this.#waiting.shift();
      if (next === undefined) {
        if (!this.#mustReopen) return;
        continue;
      }
      const { batch, written } = next;
      const lost = await this.#writeBatch(batch);
      written({ length: batch.text.length, lost });
    }
  }

  async #reopen(): Promise<void> {
    this.#mustReopen = false;
    try {
      const descriptor = await openFile(this.#place, flags, mode);
      const previous = this.#descriptor;
      this.#descriptor = descriptor;
      this.#isTorn = false;
      await closeFile(previous);
      this.#log.info("reopened the access log", { file: this.#place });
    } catch (error) {
      this.#log.error("could not reopen the access log: the previous file stays in use", { error });
    }
  }

  /** Returns how many lines are lost. */
  async #writeBatch({ text }: AccessBatch): Promise<number> {
    const bytes = Buffer.from(this.#isTorn ? `\n${text}` : text);
    let at = 0;
    while (at < bytes.length) {
      try {
        at += (await writeTo(this.#descriptor, bytes.subarray(at))).bytesWritten;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EAGAIN" && !this.#isClosing) {
          await new Promise((resolve) => setTimeout(resolve, fullPipeMs));
          continue;
        }
        return this.#failed(bytes, at, error);
      }
    }
    this.#isTorn = false;
    if (this.#isFailing) this.#log.info("the access log is written again", { file: this.#place });
    this.#isFailing = false;
    return 0;
  }

  #failed(bytes: Buffer, at: number, error: unknown): number {
    if (at > 0) this.#isTorn = bytes[at - 1] !== 0x0a;
    if (!this.#isFailing) this.#log.error("cannot write the access log: lines are lost", { file: this.#place, error });
    this.#isFailing = true;
    let lost = 0;
    for (let end = bytes.indexOf(0x0a, Math.max(at, 1)); end >= 0; end = bytes.indexOf(0x0a, end + 1)) lost += 1;
    return lost;
  }
}

/** Throws `Failure` (usage) for settings that do not fit together, and for a file that cannot be opened. */
export function openAccessLog(settings: AccessLogSettings, log: Log): AccessLogFile | undefined {
  const { accessLog: place, accessLogFormat: format, accessLogFields: fields, accessLogHeaders: headers } = settings;
  if (place === undefined) return undefined;
  if (format === "combined" && fields.length + headers.length > 0) {
    throw new Failure(
      "usage",
      "the access log format combined has fixed fields: remove --access-log-fields and --access-log-headers, or choose json or logfmt with --access-log-format",
    );
  }
  return new AccessLogFile(place, log);
}

/** A pipe is opened anew, so that this process alone writes to it without blocking. */
function openOutput(): number {
  if (!fstatSync(standardOutput).isFIFO()) return standardOutput;
  return openSync("/dev/stdout", constants.O_WRONLY | (constants.O_NONBLOCK ?? 0));
}
