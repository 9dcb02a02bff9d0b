/** An event stream as messages (WHATWG HTML §9.2.5), each passed on as soon as it is whole. */
import { letGo } from "../../lib/boundary.ts";
import { Transform } from "node:stream";
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import type { TransformCallback } from "node:stream";

/**
 * What becomes of a message, which ends with its empty line unless the stream ended first. Undefined: it stays.
 * What it rejects with ends the stream.
 */
export type ChangeMessage = (message: Buffer) => Promise<Buffer | undefined> | Buffer | undefined;

/** Bytes of a message; longer ones pass unchanged. */
export const maxMessageBytes = 64 * 1024;

const LF = 0x0a;
const CR = 0x0d;

export interface EventStreamOptions {
  readonly change: ChangeMessage;
  /** Told once for each message that is longer than `maxMessageBytes`. */
  readonly tooLong?: () => void;
  /** Told once, when the last message has been passed on. */
  readonly ended?: () => void;
}

/**
 * Splits at empty lines, which end with CR LF, LF or CR. A CR at the end of what has arrived ends its line at once:
 * a message does not wait for the next one. At most one message is held.
 */
export function makeEventStream({ change, tooLong, ended }: EventStreamOptions): Transform {
  /** What has arrived of the message. */
  const held = new GatheredBytes();
  let messageBytes = 0;
  let isPassing = false;
  /** Nothing of the present line has arrived. */
  let isLineEmpty = true;
  /** The last byte was a CR: an LF belongs to it. */
  let isAfterCr = false;
  /** The same, and the CR ended a message, which is gone. */
  let endedByCr = false;

  const hold = (stream: Transform, bytes: Buffer): void => {
    if (bytes.length === 0) return;
    if (!isPassing && messageBytes + bytes.length > maxMessageBytes) {
      isPassing = true;
      tooLong?.();
      for (const piece of held.take()) stream.push(piece);
    }
    if (isPassing) stream.push(bytes);
    else held.add(bytes);
    messageBytes += bytes.length;
  };
  const complete = async (stream: Transform): Promise<void> => {
    const message = held.join();
    held.clear();
    messageBytes = 0;
    const wasPassing = isPassing;
    isPassing = false;
    if (wasPassing || message.length === 0) return;
    stream.push((await change(message)) ?? message);
  };
  const consume = async (stream: Transform, chunk: Buffer): Promise<void> => {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === LF && isAfterCr) {
        isAfterCr = false;
        if (endedByCr) {
          endedByCr = false;
          stream.push(chunk.subarray(at, at + 1));
          from = at + 1;
        }
        continue;
      }
      isAfterCr = byte === CR;
      endedByCr = false;
      if (byte !== LF && byte !== CR) {
        isLineEmpty = false;
        continue;
      }
      if (!isLineEmpty) {
        isLineEmpty = true;
        continue;
      }
      // The LF of a CR LF that has already arrived goes with its message.
      const isPair = byte === CR && chunk[at + 1] === LF;
      if (isPair) at += 1;
      isAfterCr = byte === CR && !isPair;
      endedByCr = isAfterCr;
      hold(stream, chunk.subarray(from, at + 1));
      from = at + 1;
      await complete(stream);
    }
    hold(stream, chunk.subarray(from));
  };
  const settle = async (work: Promise<void>, done: TransformCallback): Promise<void> => {
    let failure: Error | undefined;
    try {
      await work;
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
    }
    done(failure);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      letGo("stream", settle(consume(this, chunk), done));
    },
    flush(done) {
      letGo(
        "stream",
        settle(
          complete(this).then(() => ended?.()),
          done,
        ),
      );
    },
  });
}
