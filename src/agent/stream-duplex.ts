/** A tunnel stream as the `Duplex` that Node's HTTP server expects. */
import { Duplex } from "node:stream";
import type { ByteReceiver, ByteStream } from "../lib/io/byte-stream.ts";

/** Observes the bytes. */
export interface Along {
  readonly forth: (bytes: Buffer) => void;
  readonly back: (bytes: Buffer) => void;
  readonly closed: (error: Error | undefined) => void;
}

/** Takes over the stream. Returns credit as the reader consumes the bytes. */
export function duplexOf(stream: ByteStream, along?: Along): Duplex {
  let unread = 0;
  let drained: (() => void) | undefined;
  let isOver = false;
  /** Both directions have ended. Bytes that are still buffered arrive without further reads. */
  let hasRead = false;
  let hasWritten = false;
  const duplex = new Duplex({
    allowHalfOpen: true,
    read() {
      const taken = unread;
      unread = 0;
      if (taken > 0) stream.consumed(taken);
    },
    write(bytes: Buffer, _encoding, done) {
      along?.back(bytes);
      if (stream.write(bytes)) done();
      else drained = done;
    },
    final(done) {
      hasWritten = true;
      stream.end();
      done();
    },
    destroy(error, done) {
      if (!isOver && (error || !hasRead || !hasWritten)) stream.abort();
      done(error);
    },
  });
  const receiver: ByteReceiver = {
    data(bytes) {
      along?.forth(bytes);
      if (duplex.push(bytes)) stream.consumed(bytes.length);
      else unread += bytes.length;
    },
    ended() {
      hasRead = true;
      duplex.push(null);
    },
    drained() {
      const done = drained;
      drained = undefined;
      done?.();
    },
    closed(error) {
      isOver = true;
      along?.closed(error);
      // Buffered bytes before the end are still delivered.
      if (error) duplex.destroy();
      else if (!duplex.readableEnded) duplex.push(null);
    },
  };
  stream.receiver = receiver;
  return duplex;
}
