/** Splits an event stream into messages (WHATWG HTML §9.2.5), and passes each on as soon as it is complete. */
import { runUnattended } from "../../lib/boundary.ts";
import { Transform } from "node:stream";
import { GatheredBytes } from "../../lib/gathered-bytes.ts";
import type { TransformCallback } from "node:stream";

/**
 * Changes a message. The message ends with its empty line unless the stream ended first. Undefined keeps it unchanged.
 * A rejection ends the stream.
 */
export type ChangeMessage = (message: Buffer) => Promise<Buffer | undefined> | Buffer | undefined;

/** Maximum size of a message, bytes. Longer ones pass unchanged. */
export const maxMessageBytes = 64 * 1024;

const LF = 0x0a;
const CR = 0x0d;

export interface EventStreamOptions {
  readonly change: ChangeMessage;
  /** Called once for each message longer than `maxMessageBytes`. */
  readonly tooLong?: () => void;
  /** Called once, when the last message has been passed on. */
  readonly ended?: () => void;
}

/**
 * Splits at empty lines, which end with CR LF, LF or CR. A CR at the end of a chunk ends its line immediately, so that
 * a message does not wait for the next one. Buffers at most one message.
 */
export function makeEventStream({ change, tooLong, ended }: EventStreamOptions): Transform {
  /** The received part of the message. */
  const held = new GatheredBytes();
  let messageBytes = 0;
  let isPassing = false;
  /** No byte of the present line has arrived. */
  let isLineEmpty = true;
  /** The last byte was a CR: an LF belongs to it. */
  let isAfterCr = false;
  /** The last byte was a CR that ended a message, which has been passed on. */
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
      // The LF of a complete CR LF belongs to its message.
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
      runUnattended("stream", settle(consume(this, chunk), done));
    },
    flush(done) {
      runUnattended(
        "stream",
        settle(
          complete(this).then(() => ended?.()),
          done,
        ),
      );
    },
  });
}
