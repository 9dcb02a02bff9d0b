import type { OnReadOpts, Socket } from "node:net";

/** Maximum size of one read, bytes; the size that libuv requests. */
const blockBytes = 64 * 1024;
/**
 * Up to this size, bytes are copied out of the block, which is then reused. Larger reads are passed on with the block.
 */
const maxCopiedBytes = 16 * 1024;

/** Subset of the options of `net.connect`. */
export interface TcpReading {
  readonly onread: OnReadOpts;
}

/** The block that all sockets read into. It is empty between two reads. */
const shared = Buffer.allocUnsafeSlow(blockBytes);

/**
 * Options for `net.connect` without TLS: the socket reads into a block that all of these share, and emits `data` as any
 * other does. Data without a listener is lost, so add the listener when the socket is connected, at the latest.
 *
 * Otherwise Node would allocate a block for each read if a thread alternates between plain TCP and TLS (decision 30).
 */
export function readingIntoShared(): TcpReading {
  let block = shared;
  return {
    onread: {
      buffer: () => block,
      callback(this: Socket, length: number) {
        const bytes = block.subarray(0, length);
        if (length <= maxCopiedBytes) {
          block = shared;
          return this.emit("data", Buffer.from(bytes));
        }
        // More data is coming: the next block belongs to this socket only, and is passed on with the data in it.
        const isOwn = block !== shared;
        block = Buffer.allocUnsafeSlow(blockBytes);
        return this.emit("data", isOwn ? bytes : Buffer.from(bytes));
      },
    } as OnReadOpts,
  };
}
